import * as grpc from '@grpc/grpc-js';
import { context, propagation, type Span, SpanKind, trace, type Tracer } from '@opentelemetry/api';

/** Answers each call inside a span that continues the caller's trace, as `inServerSpans` does for HTTP. */
export function callSpans(tracer: Tracer): grpc.ServerInterceptor {
  return ({ path }, call) => {
    let span: Span | undefined;
    let inside = context.active();
    const end = (code: number): void => {
      span?.setAttribute('rpc.grpc.status_code', code);
      span?.end();
    };
    return new grpc.ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, pass) => {
            const caller = propagation.extract(context.active(), metadata.getMap());
            span = tracer.startSpan(
              path.slice(1),
              { kind: SpanKind.SERVER, attributes: { 'rpc.system': 'grpc' } },
              caller,
            );
            inside = trace.setSpan(caller, span);
            pass(metadata);
          },
          onReceiveMessage: (message, pass) => pass(message),
          // From here on the call is answered: by who guards it, or by its method.
          onReceiveHalfClose: (pass) => context.with(inside, pass),
          onCancel: () => end(grpc.status.CANCELLED),
        }),
      sendStatus: (status, next) => {
        end(status.code);
        next(status);
      },
    });
  };
}
