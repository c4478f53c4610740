import { create, toJson } from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import { z } from "zod";
import type { OpenFile } from "../gen/devtool/ide/v1alpha/context_pb.ts";
import {
  DiffDecision,
  type DiffOutcome,
} from "../gen/devtool/ide/v1alpha/diff_pb.ts";
import {
  ContextUpdateSchema,
  DiffAcceptedSchema,
  DiffRejectedSchema,
  type WorkspaceFile,
  WorkspaceFileSchema,
} from "../gen/devtool/ide/v1alpha/gemini_cli_pb.ts";
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
    answer.then(
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

/** Gemini CLI and Qwen Code: MCP over Streamable HTTP. */
export const geminiCliDialect: Dialect = {
  serverName: "devtool-ide-companion",
  tools: [openDiff, closeDiff],
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
