import { basename } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { create, toJson } from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import { z } from "zod";
import {
  ClaudeFileDiagnosticsSchema,
  OpenEditorsSchema,
  SelectionChangedSchema,
} from "../gen/devtool/ide/v1alpha/claude_pb.ts";
import type { EditorContext } from "../gen/devtool/ide/v1alpha/context_pb.ts";
import {
  DiagnosticSeverity,
  type FileDiagnostics,
} from "../gen/devtool/ide/v1alpha/diagnostics_pb.ts";
import { DiffDecision } from "../gen/devtool/ide/v1alpha/diff_pb.ts";
import { assertAbsolute, callEditor } from "../open-diffs.ts";
import { type Dialect, dialectTool } from "./dialect.ts";
import { recentFiles } from "./recent-files.ts";
import { rangeOfText } from "./text-range.ts";

const EMIT_ALL = { alwaysEmitImplicit: true } as const;

const openDiff = dialectTool({
  name: "openDiff",
  description:
    "Shows a proposed content of a file as a diff, and waits until the user saves or rejects it.",
  input: z.object({
    old_file_path: z.string(),
    new_file_path: z.string(),
    new_file_contents: z.string(),
    tab_name: z.string(),
  }),
  async run(input, { diffs, owner, callSignal }) {
    const path = input.new_file_path;
    const proposal = {
      path,
      content: input.new_file_contents,
      title: input.tab_name,
    };
    const { answer } = await diffs.open(owner, proposal, callSignal);
    // A call that is cancelled, or whose client is gone, leaves no view.
    const close = (): void => void diffs.close(owner, path).catch(() => {});
    callSignal.addEventListener("abort", close, { once: true });
    try {
      const outcome = await answer;
      return outcome?.decision === DiffDecision.ACCEPTED
        ? ["FILE_SAVED", outcome.content]
        : ["DIFF_REJECTED", input.tab_name];
    } finally {
      callSignal.removeEventListener("abort", close);
    }
  },
});

const closeTab = dialectTool({
  name: "close_tab",
  description: "Closes the diff with a tab name.",
  input: z.object({ tab_name: z.string() }),
  async run({ tab_name }, { diffs, owner }) {
    await diffs.closeAll(owner, tab_name);
    return ["TAB_CLOSED"];
  },
});

const closeAllDiffTabs = dialectTool({
  name: "closeAllDiffTabs",
  description: "Closes all diffs that this agent has opened.",
  input: z.object({}),
  run: async (_input, { diffs, owner }) => [
    `CLOSED_${await diffs.closeAll(owner)}_DIFF_TABS`,
  ],
});

const openFile = dialectTool({
  name: "openFile",
  description: "Opens a file and selects the text from startText to endText.",
  input: z.object({
    filePath: z.string(),
    startText: z.string().optional(),
    endText: z.string().optional(),
    selectToEndOfLine: z.boolean().default(false),
    makeFrontmost: z.boolean().default(true),
  }),
  async run(input, { editor, callSignal }) {
    const { filePath: path, makeFrontmost: isFocused } = input;
    assertAbsolute(path);
    const range = await rangeOfText(path, input);
    await callEditor(
      (signal) => editor.openFile({ path, range, isFocused }, signal),
      callSignal,
    );
    return isFocused
      ? [`Opened file: ${path}`]
      : [JSON.stringify({ success: true, filePath: path })];
  },
});

/** The tools that tell the selection, which is the latest one in both. */
const selectionTools = ["getCurrentSelection", "getLatestSelection"].map(
  (name) =>
    dialectTool({
      name,
      description: "Returns the selected text and its place.",
      input: z.object({}),
      run: async (_input, { editor }) => {
        const params = selectionParams(editor.context());
        return [
          JSON.stringify(
            params
              ? { success: true, ...params }
              : { success: false, message: "No active editor found" },
          ),
        ];
      },
    }),
);

const getOpenEditors = dialectTool({
  name: "getOpenEditors",
  description: "Lists the files that are open.",
  input: z.object({}),
  run: async (_input, { editor }) => {
    const tabs = recentFiles(editor.context()).map((file) => ({
      uri: pathToFileURL(file.path).href,
      isActive: file.isActive,
      label: basename(file.path),
      languageId: file.languageId,
      isDirty: file.isDirty,
      fileName: file.path,
    }));
    const message = create(OpenEditorsSchema, { tabs });
    return [JSON.stringify(toJson(OpenEditorsSchema, message, EMIT_ALL))];
  },
});

const getWorkspaceFolders = dialectTool({
  name: "getWorkspaceFolders",
  description: "Lists the folders that are open.",
  input: z.object({}),
  run: async (_input, { editor }) => {
    const folders = editor.workspaceFolders();
    return [
      JSON.stringify({
        success: true,
        folders: folders.map((path) => ({
          name: basename(path),
          uri: pathToFileURL(path).href,
          path,
        })),
        rootPath: folders[0] ?? null,
      }),
    ];
  },
});

const getDiagnostics = dialectTool({
  name: "getDiagnostics",
  description: "Returns errors and warnings of a file, or of all files.",
  input: z.object({ uri: z.string().optional() }),
  run: async ({ uri }, { editor, callSignal }) => {
    const path = uri?.startsWith("file:") ? fileURLToPath(uri) : uri;
    const files = await callEditor(
      (signal) => editor.diagnostics(path, signal),
      callSignal,
    );
    return [JSON.stringify(files.map(claudeDiagnostics))];
  },
});

const checkDocumentDirty = dialectTool({
  name: "checkDocumentDirty",
  description: "Returns whether an open file has changes that are not saved.",
  input: z.object({ filePath: z.string() }),
  run: async ({ filePath }, { editor }) => {
    const isDirty = editor.isDirty(filePath);
    return [
      JSON.stringify(
        isDirty === undefined
          ? notOpen(filePath)
          : { success: true, filePath, isDirty, isUntitled: false },
      ),
    ];
  },
});

const saveDocument = dialectTool({
  name: "saveDocument",
  description: "Saves an open file.",
  input: z.object({ filePath: z.string() }),
  run: async ({ filePath }, { editor, callSignal }) => {
    const isSaved = await callEditor(
      (signal) => editor.save(filePath, signal),
      callSignal,
    );
    const message = "Document saved successfully";
    return [
      JSON.stringify(
        isSaved
          ? { success: true, filePath, saved: true, message }
          : notOpen(filePath),
      ),
    ];
  },
});

/** Claude Code: MCP over a WebSocket. */
export const claudeDialect: Dialect = {
  serverName: "devtool-ide-companion",
  tools: [
    openFile,
    openDiff,
    ...selectionTools,
    getOpenEditors,
    getWorkspaceFolders,
    getDiagnostics,
    checkDocumentDirty,
    saveDocument,
    closeTab,
    closeAllDiffTabs,
  ],
  contextNotice(context) {
    const params = selectionParams(context);
    return params && { method: "selection_changed", params };
  },
};

function notOpen(path: string): object {
  return { success: false, message: `Document not open: ${path}` };
}

/** Describes the selection of the active file; undefined when there is none. */
function selectionParams(context: EditorContext) {
  const active = recentFiles(context).find(({ isActive }) => isActive);
  if (!active) return undefined;
  const { path, selection, selectedText } = active;
  const start = { line: 0, character: 0, ...selection?.start };
  const message = create(SelectionChangedSchema, {
    text: selectedText,
    filePath: path,
    fileUrl: pathToFileURL(path).href,
    selection: {
      start,
      end: { ...start, ...selection?.end },
      isEmpty: selectedText === "",
    },
  });
  return objectOrEmpty(toJson(SelectionChangedSchema, message, EMIT_ALL));
}

const SEVERITIES = {
  [DiagnosticSeverity.UNSPECIFIED]: "Error",
  [DiagnosticSeverity.ERROR]: "Error",
  [DiagnosticSeverity.WARNING]: "Warning",
  [DiagnosticSeverity.INFORMATION]: "Info",
  [DiagnosticSeverity.HINT]: "Hint",
} as const;

function claudeDiagnostics({ path, diagnostics }: FileDiagnostics) {
  const message = create(ClaudeFileDiagnosticsSchema, {
    uri: pathToFileURL(path).href,
    diagnostics: diagnostics.map(
      ({ message, severity, range, source, code }) => ({
        message,
        severity: SEVERITIES[severity],
        ...(range && { range }),
        source,
        code,
      }),
    ),
  });
  return toJson(ClaudeFileDiagnosticsSchema, message, EMIT_ALL);
}
