import { create, toJson } from "@bufbuild/protobuf";
import { abortable } from "@devtool/internal/abortable";
import { objectOrEmpty } from "@devtool/internal/json";
import { z } from "zod";
import {
  type OpenFile,
  type Range,
  RangeSchema,
} from "../gen/devtool/ide/v1alpha/context_pb.ts";
import type { FileDiagnostics } from "../gen/devtool/ide/v1alpha/diagnostics_pb.ts";
import {
  DiffDecision,
  type DiffOutcome,
} from "../gen/devtool/ide/v1alpha/diff_pb.ts";
import {
  ContextUpdateSchema,
  DiagnosticsAnswerSchema,
  DiffAcceptedSchema,
  DiffRejectedSchema,
  type WorkspaceFile,
  WorkspaceFileSchema,
} from "../gen/devtool/ide/v1alpha/gemini_cli_pb.ts";
import { MAX_DIAGNOSTICS } from "../limits.ts";
import { assertAbsolute, callEditor } from "../open-diffs.ts";
import { type Dialect, dialectTool, type Notice } from "./dialect.ts";
import { recentFiles } from "./recent-files.ts";

const EMIT_ALL = { alwaysEmitImplicit: true } as const;

const openDiff = dialectTool({
  name: "openDiff",
  description:
    "Shows a proposed content of a file as a diff. Returns at once; a notification tells whether the user accepts or rejects it.",
  input: z.object({ filePath: z.string(), newContent: z.string() }),
  async run({ filePath, newContent }, { diffs, owner, notify, sessionSignal }) {
    const proposal = { path: filePath, content: newContent, title: "" };
    const { answer } = await diffs.open(owner, proposal, sessionSignal);
    // When the companion ends, too: Gemini CLI would wait for the answer for ever.
    abortable(answer, sessionSignal).then(
      (outcome) => outcome && notify(outcomeNotice(filePath, outcome)),
      () => notify(rejected(filePath)),
    );
    return [];
  },
});

const closeDiff = dialectTool({
  name: "closeDiff",
  description:
    "Closes the diff of a file. Returns the proposed content as the user has changed it so far.",
  // `suppressNotification` is for older companions: who closes a diff here gets
  // the content, and no notification.
  input: z.object({
    filePath: z.string(),
    suppressNotification: z.boolean().optional(),
  }),
  run: async ({ filePath }, { diffs, owner }) => [
    JSON.stringify({ content: await diffs.close(owner, filePath) }),
  ],
});

const getDiagnostics = dialectTool({
  name: "getDiagnostics",
  description: "Returns errors and warnings of a file, or of all files.",
  input: z.object({ filePath: z.string().optional() }),
  async run({ filePath }, { editor, callSignal }) {
    const files = await callEditor(
      (signal) => editor.diagnostics(filePath, signal),
      callSignal,
    );
    const answer = create(DiagnosticsAnswerSchema, { files: worstOf(files) });
    return [JSON.stringify(toJson(DiagnosticsAnswerSchema, answer))];
  },
});

const lineNumber = z
  .int()
  .min(1)
  .max(2 ** 31);

const openFile = dialectTool({
  name: "openFile",
  description:
    "Shows a file, at a line, or with the lines to another one selected. Lines count from 1.",
  input: z.object({
    filePath: z.string(),
    line: lineNumber.optional(),
    endLine: lineNumber.optional(),
  }),
  async run({ filePath: path, line, endLine }, { editor, callSignal }) {
    assertAbsolute(path);
    const range = line === undefined ? undefined : lines(line, endLine);
    await callEditor(
      (signal) => editor.openFile({ path, range, isFocused: true }, signal),
      callSignal,
    );
    return [];
  },
});

/** Gemini CLI and Qwen Code: MCP over Streamable HTTP. */
export const geminiCliDialect: Dialect = {
  serverName: "devtool-ide-companion",
  // Gemini CLI and Qwen Code do not know the last two, which our agent calls.
  tools: [openDiff, closeDiff, getDiagnostics, openFile],
  contextNotice: (context) => ({
    method: "ide/contextUpdate",
    params: objectOrEmpty(
      toJson(
        ContextUpdateSchema,
        create(ContextUpdateSchema, {
          workspaceState: {
            openFiles: recentFiles(context).map(workspaceFile),
            ...(context.isTrusted !== undefined && {
              isTrusted: context.isTrusted,
            }),
          },
        }),
        EMIT_ALL,
      ),
    ),
  }),
};

/** More than the characters of any line: editors take it as the line's end. */
const LINE_END = 2 ** 30;

/** The start of a line, or the lines from it to another one. */
function lines(line: number, endLine: number | undefined): Range {
  const start = { line: line - 1, character: 0 };
  const end =
    endLine === undefined
      ? start
      : { line: Math.max(line, endLine) - 1, character: LINE_END };
  return create(RangeSchema, { start, end });
}

/** Keeps the worst reports, those of each file in one message, errors first. */
function worstOf(files: readonly FileDiagnostics[]): FileDiagnostics[] {
  const worst = files
    .flatMap((file) => file.diagnostics.map((each) => ({ file, each })))
    // Without a severity, it counts as an error.
    .sort((one, other) => one.each.severity - other.each.severity)
    .slice(0, MAX_DIAGNOSTICS);
  return [...Map.groupBy(worst, ({ file }) => file)].map(([file, reports]) => ({
    ...file,
    diagnostics: reports.map(({ each }) => each),
  }));
}

/** Only the active file has a cursor and a selection. */
function workspaceFile(file: OpenFile): WorkspaceFile {
  const { path, focusedAtMs: timestamp, isActive, selectedText } = file;
  const at = isActive ? file.selection?.end : undefined;
  return create(WorkspaceFileSchema, {
    path,
    timestamp,
    isActive,
    isDirty: file.isDirty,
    ...(at && {
      cursor: { line: (at.line ?? 0) + 1, character: (at.character ?? 0) + 1 },
    }),
    ...(isActive && selectedText !== "" && { selectedText }),
  });
}

function outcomeNotice(filePath: string, outcome: DiffOutcome): Notice {
  if (outcome.decision !== DiffDecision.ACCEPTED) return rejected(filePath);
  const message = create(DiffAcceptedSchema, {
    filePath,
    content: outcome.content,
  });
  return {
    method: "ide/diffAccepted",
    params: objectOrEmpty(toJson(DiffAcceptedSchema, message, EMIT_ALL)),
  };
}

function rejected(filePath: string): Notice {
  const message = create(DiffRejectedSchema, { filePath });
  return {
    method: "ide/diffRejected",
    params: objectOrEmpty(toJson(DiffRejectedSchema, message, EMIT_ALL)),
  };
}
