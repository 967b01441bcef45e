import type { ReactElement, ReactNode } from 'react';

/** One column of a table. */
export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  /** Figures stand right. */
  readonly isFigure?: boolean;
  /** Left out on narrow screens, unless it is wide and says something. */
  readonly isExtra?: boolean;
  /** What can be done to the row. */
  readonly isActions?: boolean;
  /** Takes what is left, and is cut at its end. */
  readonly isWide?: boolean;
  /** On a phone a row is a card: what its first line begins with, what it is called, and what stands at its end. The rest stands below. */
  readonly card?: 'lead' | 'title' | 'end';
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

function classOf<Row>({ isFigure, isExtra, isWide, isActions, card }: Column<Row>): string {
  const names = [isFigure && 'figure', isExtra && 'extra', isWide && 'wide', isActions && 'actions-cell'];
  return [...names, card !== undefined && `card-${card}`].filter(Boolean).join(' ');
}

/** Gives a cell that is cut its whole text as a title. Only who points at it needs to know whether it is cut. */
function tellWhole({ currentTarget: cell }: { readonly currentTarget: HTMLElement }): void {
  if (cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent;
  else cell.removeAttribute('title');
}

/** A compact table. */
export function Rows<Row>(props: RowsProps<Row>): ReactElement {
  const { label, columns, rows, idOf, open, current, selection } = props;
  const ids = rows.map((row) => idOf(row));
  return (
    <div className="table-box">
      <table aria-label={label}>
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
        <td
          key={column.head}
          className={classOf(column)}
          data-head={column.head.toLowerCase()}
          onPointerEnter={tellWhole}
        >
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}
