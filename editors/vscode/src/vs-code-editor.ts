import { basename } from "node:path";
import { create } from "@bufbuild/protobuf";
import {
  DiagnosticSeverity,
  DiffDecision,
  type DiffOutcome,
  DiffOutcomeSchema,
  type DiffProposal,
  type Editor,
  type EditorContext,
  type EditorDiff,
  type FileDiagnostics,
  FileDiagnosticsSchema,
  type FileLocation,
} from "@devtool/ide";
import { oneLine } from "@devtool/internal/visible-text";
import * as vscode from "vscode";
import type { OpenFiles } from "./open-files.ts";
import type { Reviews } from "./review/reviews.ts";

const MAX_TITLE_LENGTH = 120;

/** This window, for a companion. */
export class VsCodeEditor implements Editor {
  readonly name = "vscode";
  readonly displayName: string = vscode.env.appName;
  readonly #files: OpenFiles;
  readonly #reviews: Reviews;

  constructor(files: OpenFiles, reviews: Reviews) {
    this.#files = files;
    this.#reviews = reviews;
  }

  workspaceFolders(): readonly string[] {
    const folders = vscode.workspace.workspaceFolders ?? [];
    return folders
      .filter(({ uri }) => uri.scheme === "file")
      .map(({ uri }) => uri.fsPath);
  }

  context(): EditorContext {
    return this.#files.context();
  }

  onContext(listener: () => void): Disposable {
    const subscription = this.#files.onChange(listener);
    return { [Symbol.dispose]: () => subscription.dispose() };
  }

  async openDiff(
    { path, content, title }: DiffProposal,
    signal: AbortSignal,
  ): Promise<EditorDiff> {
    const ended = Promise.withResolvers<DiffOutcome>();
    const end = (decision: DiffDecision, text = ""): void =>
      ended.resolve(create(DiffOutcomeSchema, { decision, content: text }));
    const review = await this.#reviews.show(
      {
        kind: "devtool-diff",
        path,
        title: oneLine(
          title || `${basename(path)}: proposed change`,
          MAX_TITLE_LENGTH,
        ),
        original: await originalOf(path),
        text: content,
        async decide(decision, { content: now, close }) {
          const accepted = decision === "accept" ? now() : undefined;
          // The agent may show the next change as soon as it has the answer.
          await close().catch(showProblem);
          if (accepted !== undefined) end(DiffDecision.ACCEPTED, accepted);
          end(
            decision === "reject" ? DiffDecision.REJECTED : DiffDecision.CLOSED,
          );
        },
      },
      signal,
    );
    return {
      outcome: ended.promise,
      async close() {
        const draft = review.content();
        await review.close();
        end(DiffDecision.CLOSED);
        return draft;
      },
    };
  }

  async diagnostics(
    path: string | undefined,
  ): Promise<readonly FileDiagnostics[]> {
    const reports =
      path === undefined
        ? vscode.languages.getDiagnostics()
        : [reportOf(vscode.Uri.file(path))];
    return reports
      .filter(([uri, found]) => uri.scheme === "file" && found.length > 0)
      .map(([uri, found]) =>
        create(FileDiagnosticsSchema, {
          path: uri.fsPath,
          diagnostics: found.map(diagnosticOf),
        }),
      );
  }

  async openFile({ path, range, isFocused }: FileLocation): Promise<void> {
    const { start, end } = range ?? {};
    await vscode.window.showTextDocument(vscode.Uri.file(path), {
      preserveFocus: !isFocused,
      ...(start && {
        selection: new vscode.Range(
          positionOf(start),
          positionOf(end ?? start),
        ),
      }),
    });
  }

  isDirty(path: string): boolean | undefined {
    return documentOf(path)?.isDirty;
  }

  async save(path: string): Promise<boolean> {
    const document = documentOf(path);
    if (!document) return false;
    if (document.isDirty && !(await document.save())) {
      throw new Error(`"${path}" could not be saved`);
    }
    return true;
  }
}

/** What a proposed content is compared with: the file, if it exists. */
async function originalOf(path: string): Promise<vscode.Uri | string> {
  const uri = vscode.Uri.file(path);
  try {
    await vscode.workspace.fs.stat(uri);
    return uri;
  } catch {
    return "";
  }
}

function reportOf(uri: vscode.Uri): [vscode.Uri, vscode.Diagnostic[]] {
  return [uri, vscode.languages.getDiagnostics(uri)];
}

function diagnosticOf({
  message,
  severity,
  range,
  source = "",
  code,
}: vscode.Diagnostic) {
  const value = typeof code === "object" ? code.value : code;
  return {
    message,
    source,
    severity: SEVERITIES[severity],
    code: String(value ?? ""),
    range: {
      start: { line: range.start.line, character: range.start.character },
      end: { line: range.end.line, character: range.end.character },
    },
  };
}

const SEVERITIES: Readonly<
  Record<vscode.DiagnosticSeverity, DiagnosticSeverity>
> = {
  [vscode.DiagnosticSeverity.Error]: DiagnosticSeverity.ERROR,
  [vscode.DiagnosticSeverity.Warning]: DiagnosticSeverity.WARNING,
  [vscode.DiagnosticSeverity.Information]: DiagnosticSeverity.INFORMATION,
  [vscode.DiagnosticSeverity.Hint]: DiagnosticSeverity.HINT,
};

function positionOf({
  line = 0,
  character = 0,
}: {
  readonly line?: number | undefined;
  readonly character?: number | undefined;
}): vscode.Position {
  return new vscode.Position(line, character);
}

function documentOf(path: string): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find(
    ({ uri }) => uri.scheme === "file" && uri.fsPath === path,
  );
}

function showProblem(reason: unknown): void {
  void vscode.window.showErrorMessage(`devtool: ${String(reason)}`);
}
