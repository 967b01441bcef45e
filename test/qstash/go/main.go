// Calls QStash's Go client: each line of the input is a call as JSON, each line of the output is its result.
//
//	["Messages.CancelMany", ["…"]]  →  {"value": 1} or {"error": "…"}
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/upstash/qstash-go"
)

func main() {
	client := qstash.NewClientWith(qstash.Options{Url: os.Getenv("QSTASH_URL"), Token: os.Getenv("QSTASH_TOKEN")})
	lines := bufio.NewScanner(os.Stdin)
	results := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		value, err := call(client, lines.Bytes())
		if err != nil {
			_ = results.Encode(map[string]any{"error": err.Error()})
		} else {
			_ = results.Encode(map[string]any{"value": value})
		}
	}
}

// A name leads from the client to a method: "Publish", "Schedules.Create". "Receiver" is no part of the client.
func call(client *qstash.Client, line []byte) (any, error) {
	var parts []json.RawMessage
	var name string
	if err := json.Unmarshal(line, &parts); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(parts[0], &name); err != nil {
		return nil, err
	}
	on := reflect.ValueOf(client)
	steps := strings.Split(name, ".")
	for _, step := range steps[:len(steps)-1] {
		if step == "Receiver" {
			on = reflect.ValueOf(qstash.NewReceiverWithEnv())
		} else {
			on = on.MethodByName(step).Call(nil)[0]
		}
	}
	method := on.MethodByName(steps[len(steps)-1])
	if !method.IsValid() || method.Type().NumIn() != len(parts)-1 {
		return nil, fmt.Errorf("%s cannot be called like this", name)
	}
	arguments := make([]reflect.Value, len(parts)-1)
	for i := range arguments {
		argument := reflect.New(method.Type().In(i))
		if err := json.Unmarshal(parts[i+1], argument.Interface()); err != nil {
			return nil, err
		}
		arguments[i] = argument.Elem()
	}
	return split(method.Call(arguments))
}

// One value is itself, several are a list; the last one is the error.
func split(results []reflect.Value) (any, error) {
	last := len(results) - 1
	if err, isError := results[last].Interface().(error); isError {
		return nil, err
	}
	values := make([]any, last)
	for i := range values {
		values[i] = results[i].Interface()
	}
	if len(values) == 1 {
		return values[0], nil
	}
	return values, nil
}
