import { create } from "@bufbuild/protobuf";
import { type EditorContext, EditorContextSchema } from "@devtool/ide";
import * as vscode from "vscode";

/** What the user sees: the files that are open, and what is selected. */
export class OpenFiles implements vscode.Disposable {
  /** When the user looked at each file, in milliseconds since 1970. */
  readonly #focused = new Map<string, number>();
  readonly #disposable: vscode.Disposable;

  constructor() {
    this.#look(vscode.window.activeTextEditor);
    this.#disposable = vscode.window.onDidChangeActiveTextEditor((editor) =>
      this.#look(editor),
    );
  }

  /** Calls a listener when the context may be another one. */
  onChange(listener: () => void): vscode.Disposable {
    return vscode.Disposable.from(
      vscode.window.onDidChangeActiveTextEditor(listener),
      vscode.window.onDidChangeTextEditorSelection(listener),
      vscode.window.tabGroups.onDidChangeTabs(listener),
      vscode.workspace.onDidChangeWorkspaceFolders(listener),
      vscode.workspace.onDidGrantWorkspaceTrust(listener),
    );
  }

  context(): EditorContext {
    const open = new Map(openTabs());
    for (const path of this.#focused.keys()) {
      if (!open.has(path)) this.#focused.delete(path);
    }
    return create(EditorContextSchema, {
      isTrusted: vscode.workspace.isTrusted,
      openFiles: [...open].map(([path, { isDirty }]) => ({
        path,
        isDirty,
        focusedAtMs: this.#focused.get(path) ?? 0,
        ...seenIn(path),
      })),
    });
  }

  dispose(): void {
    this.#disposable.dispose();
  }

  #look(editor: vscode.TextEditor | undefined): void {
    if (editor?.document.uri.scheme !== "file") return;
    this.#focused.set(editor.document.uri.fsPath, Date.now());
  }
}

/** The files that tabs show, by their paths: of a diff, the right one. */
function openTabs(): [string, vscode.Tab][] {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  return tabs.flatMap((tab): [string, vscode.Tab][] => {
    const { input } = tab;
    const uri =
      input instanceof vscode.TabInputText
        ? input.uri
        : input instanceof vscode.TabInputTextDiff
          ? input.modified
          : undefined;
    return uri?.scheme === "file" ? [[uri.fsPath, tab]] : [];
  });
}

/** What an editor shows of a file; nothing for one in the background. */
function seenIn(path: string) {
  const isOf = (editor: vscode.TextEditor): boolean =>
    editor.document.uri.scheme === "file" &&
    editor.document.uri.fsPath === path;
  const { activeTextEditor: active, visibleTextEditors } = vscode.window;
  const isActive = active !== undefined && isOf(active);
  const editor = isActive ? active : visibleTextEditors.find(isOf);
  if (!editor) return {};
  const { document, selection } = editor;
  return {
    isActive,
    languageId: document.languageId,
    selection: { start: placeOf(selection.start), end: placeOf(selection.end) },
    selectedText: document.getText(selection),
  };
}

function placeOf({ line, character }: vscode.Position) {
  return { line, character };
}
