import * as vscode from "vscode";

/**
 * In front of each file, so that the editor reads it as UTF-8 whatever its
 * settings say. The editor takes it away again.
 */
const MARK: Uint8Array = new Uint8Array([0xef, 0xbb, 0xbf]);

interface File {
  readonly content: Uint8Array;
  readonly isReadonly: boolean;
  readonly changedAtMs: number;
}

/** Files in memory, which the views of proposed changes and questions show. */
export class ReviewFiles implements vscode.FileSystemProvider {
  readonly #files = new Map<string, File>();
  readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.#changed.event;

  /** Makes a file. */
  put(
    uri: vscode.Uri,
    text: string,
    access: "readonly" | "editable" = "editable",
  ): void {
    this.#files.set(uri.toString(), {
      content: Buffer.concat([MARK, Buffer.from(text)]),
      isReadonly: access === "readonly",
      changedAtMs: Date.now(),
    });
  }

  /** Removes a file that no view shows any more. */
  remove(uri: vscode.Uri): void {
    this.#files.delete(uri.toString());
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { content, isReadonly, changedAtMs } = this.#file(uri);
    return {
      type: vscode.FileType.File,
      ctime: 0,
      mtime: changedAtMs,
      size: content.length,
      ...(isReadonly && { permissions: vscode.FilePermission.Readonly }),
    };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return this.#file(uri).content;
  }

  writeFile(uri: vscode.Uri, content: Uint8Array): void {
    const { isReadonly } = this.#file(uri);
    if (isReadonly) throw vscode.FileSystemError.NoPermissions(uri);
    const changedAtMs = Date.now();
    this.#files.set(uri.toString(), { content, isReadonly, changedAtMs });
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  #file(uri: vscode.Uri): File {
    const file = this.#files.get(uri.toString());
    if (!file) throw vscode.FileSystemError.FileNotFound(uri);
    return file;
  }
}
