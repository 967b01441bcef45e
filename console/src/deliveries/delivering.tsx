import type { ReactElement, ReactNode } from 'react';
import { Empty } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { useSession } from '../shell/session.tsx';

/** A page of the delivery server, where there is one. */
export function Delivering({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}): ReactElement {
  if (useSession().isDelivering) return <>{children}</>;
  return (
    <>
      <PageHead title={title} />
      <Empty title="This server delivers nothing" command="holdfast serve --deliver">
        Started so, it takes HTTP deliveries, schedules and webhooks, sends them, and shows them here.
      </Empty>
    </>
  );
}
