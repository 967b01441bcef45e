import type { ReactElement, ReactNode } from 'react';

/** One column of a table. */
export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  /** Figures stand right. */
  readonly isFigure?: boolean;
  /** Left out on narrow screens. */
  readonly isExtra?: boolean;
  /** What can be done to the row. */
  readonly isActions?: boolean;
  /** Takes what is left, and is cut at its end. */
  readonly isWide?: boolean;
}

export interface RowsProps<Row> {
  /** What the table is, for who cannot see it. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** Opens a row; its first cell should have a link too. */
  readonly open?: ((row: Row) => void) | undefined;
  /** The row that keys act on. */
  readonly current?: string | undefined;
  readonly selection?: Selection | undefined;
}

/** Rows that were chosen. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly toggle: (id: string) => void;
  readonly toggleAll: (ids: readonly string[]) => void;
}

function classOf<Row>({ isFigure, isExtra, isWide, isActions }: Column<Row>): string {
  const names = [isFigure && 'figure', isExtra && 'extra', isWide && 'wide', isActions && 'actions-cell'];
  return names.filter(Boolean).join(' ');
}

/** A compact table. */
export function Rows<Row>(props: RowsProps<Row>): ReactElement {
  const { label, columns, rows, idOf, open, current, selection } = props;
  const ids = rows.map((row) => idOf(row));
  return (
    <div className="table-box">
      <table aria-label={label} className={columns.some(({ isActions }) => isActions) ? 'with-actions' : ''}>
        <thead>
          <tr>
            {selection === undefined ? null : (
              <th className="tick">
                <input
                  type="checkbox"
                  aria-label="Select all rows shown"
                  checked={ids.length > 0 && ids.every((id) => selection.ids.has(id))}
                  onChange={() => selection.toggleAll(ids)}
                />
              </th>
            )}
            {columns.map((column) => (
              <th key={column.head} className={classOf(column)} scope="col">
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Line
              key={idOf(row)}
              row={row}
              columns={columns}
              id={idOf(row)}
              open={open}
              current={current}
              selection={selection}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line<Row>({
  row,
  columns,
  id,
  open,
  current,
  selection,
}: Pick<RowsProps<Row>, 'columns' | 'open' | 'current' | 'selection'> & {
  readonly row: Row;
  readonly id: string;
}): ReactElement {
  return (
    <tr
      data-row={id}
      className={`${id === current ? 'current' : ''} ${open === undefined ? '' : 'opens'} ${selection?.ids.has(id) ? 'chosen' : ''}`}
      onClick={(event) => {
        const isControl = (event.target as Element).closest('a, button, input, label') !== null;
        if (!isControl && getSelection()?.isCollapsed !== false) open?.(row);
      }}
    >
      {selection === undefined ? null : (
        <td className="tick">
          <input
            type="checkbox"
            aria-label={`Select ${id}`}
            checked={selection.ids.has(id)}
            onChange={() => selection.toggle(id)}
          />
        </td>
      )}
      {columns.map((column) => (
        <td key={column.head} className={classOf(column)} data-head={column.head.toLowerCase()}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}
