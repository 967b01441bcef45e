/** Anchors of the headings of one page, as GitHub gives them: the second of the same name has a number. */
export class Anchors {
  readonly #taken = new Map<string, number>();

  /** The anchor of the next heading, which may hold Markdown. */
  next(heading: string): string {
    const plain = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-');
    const count = this.#taken.get(plain) ?? 0;
    this.#taken.set(plain, count + 1);
    return count === 0 ? plain : `${plain}-${count}`;
  }
}
