import type { FileAccess } from "@devtool/policy";

/** Lets calls show every file. */
export const everyFile: FileAccess = () => () => true;

/** Leaves out of what a call found the files that it may not show, and counts them. */
export class FileSieve {
  readonly #mayShow: (path: string) => boolean;
  readonly #withheld = new Set<string>();

  constructor(mayShow: (path: string) => boolean) {
    this.#mayShow = mayShow;
  }

  /** The files that may be shown. */
  keep(paths: readonly string[]): string[] {
    return paths.filter((path) => {
      if (this.#mayShow(path)) return true;
      this.#withheld.add(path);
      return false;
    });
  }

  /** Says that files were left out; empty when none were. */
  get note(): string {
    const { size } = this.#withheld;
    if (size === 0) return "";
    return `\n[${size} ${size === 1 ? "file" : "files"} left out: the policy asks about or denies them; read_file says why]`;
  }
}
