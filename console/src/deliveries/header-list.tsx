import { Fragment, type ReactElement } from 'react';
import { isRedactedText } from '../parts/redacted.ts';

/** Headers, one value a line. */
export function HeaderList({
  headers,
}: {
  readonly headers: Readonly<Record<string, readonly string[]>>;
}): ReactElement {
  return (
    <dl className="header-list">
      {Object.entries(headers).map(([name, values]) => (
        <Fragment key={name}>
          <dt>
            <bdi>{name}</bdi>
          </dt>
          {values.map((value, at) => (
            <dd key={at}>
              <Value text={value} />
            </dd>
          ))}
        </Fragment>
      ))}
    </dl>
  );
}

function Value({ text }: { readonly text: string }): ReactElement {
  return isRedactedText(text) ? (
    <span className="redacted" title={text}>
      hidden
    </span>
  ) : (
    <bdi>{text}</bdi>
  );
}
