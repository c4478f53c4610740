import type { FileAccess } from "@devtool/policy";

/** Allows calls to show every file. */
export const everyFile: FileAccess = () => () => true;

/**
 * Removes the files that a call may not show from its results, and counts them.
 */
export class FileFilter {
  readonly #mayShow: (path: string) => boolean;
  readonly #withheld = new Set<string>();

  constructor(mayShow: (path: string) => boolean) {
    this.#mayShow = mayShow;
  }

  /** Returns the paths of files that the call may show. */
  keep(paths: readonly string[]): string[] {
    return paths.filter((path) => {
      if (this.#mayShow(path)) return true;
      this.#withheld.add(path);
      return false;
    });
  }

  /**
   * A line with the number of files that were removed. Empty when none were.
   */
  get note(): string {
    const { size } = this.#withheld;
    if (size === 0) return "";
    return `\n[${size} ${size === 1 ? "file" : "files"} left out: the policy asks about or denies them; read_file says why]`;
  }
}
