import { hash } from "node:crypto";
import { basename, join, posix } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import {
  type EditRecord,
  EditRecordSchema,
  type FileDiff,
  FileDiffSchema,
} from "@devtool/schema";
import { invalid } from "@devtool/server/agent";
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import { listedPath } from "../listed-path.ts";
import type { EditState, ToolEvent, ToolInvocation } from "../tool.ts";
import { failureResult, outputResult } from "../tool-result.ts";
import { MAX_FILE_BYTES, type Workspace } from "../workspace.ts";

/** An edit of one file that a tool proposes. */
export interface FileEdit {
  readonly workspace: Workspace;
  /** The path relative to the workspace. */
  readonly path: string;
  /** The current content. Undefined when the file does not exist. */
  readonly oldContent: string | undefined;
  readonly newContent: string;
  /** The arguments of the tool that proposes the edit. */
  readonly args: JsonObject;
  /** Returns the arguments of the same tool for an edit to another content. */
  readonly argsFor: (newContent: string) => JsonObject;
}

/**
 * Creates the call that makes an edit, as proposed or with the user's content
 * (TOOL-6).
 *
 * The call fails if the file no longer has the content that the user saw, and
 * succeeds if the edit was already made. Throws when the new content is not
 * text, or larger than `MAX_FILE_BYTES`.
 */
export function fileEditInvocation(edit: FileEdit): ToolInvocation {
  const verb = edit.oldContent === undefined ? "Create" : "Change";
  return {
    ...createInvocation(edit, `${verb} ${edit.path}`),
    withContent: (newContent) => {
      const userEdit = { ...edit, args: edit.argsFor(newContent), newContent };
      return createInvocation(
        userEdit,
        `Change ${edit.path} as the user edited it`,
      );
    },
  };
}

function createInvocation(edit: FileEdit, description: string): ToolInvocation {
  const { workspace, path, oldContent, newContent } = edit;
  const bytes = Buffer.byteLength(newContent);
  if (bytes > MAX_FILE_BYTES) {
    throw invalid(
      "file_path",
      path,
      `would have ${bytes} bytes, limit is ${MAX_FILE_BYTES}`,
      "split it",
    );
  }
  if (newContent.includes("\0") || !newContent.isWellFormed()) {
    throw invalid(
      "file_path",
      path,
      "would have a NUL or half a character (a lone surrogate)",
      "leave it out: files of text have none",
    );
  }
  const diff = fileDiff(edit);
  const record = create(
    EditRecordSchema,
    defined({
      path,
      newDigest: hash("sha256", newContent, "buffer"),
      oldDigest:
        oldContent === undefined
          ? undefined
          : hash("sha256", oldContent, "buffer"),
    }),
  );
  return {
    args: edit.args,
    description,
    confirmation: { case: "fileEditDetails", value: diff },
    edit: record,
    async *execute(): AsyncIterable<ToolEvent> {
      const state = editState(workspace, record);
      if (state === "unknown") {
        const message = `file ${JSON.stringify(path)} changed since it was shown: read it again and propose the edit anew`;
        yield failureResult("execution_failed", message);
        return;
      }
      if (state === "not begun") workspace.writeFile(path, newContent);
      yield outputResult({ case: "diff", value: diff });
    },
  };
}

/**
 * The maximum number of changed lines for which a minimal diff is computed. The
 * time for it grows with their square. The limit is not a timeout, because an
 * approval covers the diff, so the same edit must always have the same diff.
 */
const MAX_CHANGED_LINES = 1000;

function fileDiff({
  workspace,
  path,
  oldContent,
  newContent,
}: FileEdit): FileDiff {
  const from = oldContent === undefined ? "/dev/null" : `a/${path}`;
  let formattedDiff = createTwoFilesPatch(
    from,
    `b/${path}`,
    oldContent ?? "",
    newContent,
    undefined,
    undefined,
    {
      headerOptions: FILE_HEADERS_ONLY,
      maxEditLength: MAX_CHANGED_LINES,
    },
  );
  if (formattedDiff === undefined) {
    // Above the limit, all old lines are removed and all new ones added.
    const before = splitLines(oldContent ?? "");
    const after = splitLines(newContent);
    const header = `--- ${listedPath(from)}\n+++ ${listedPath(`b/${path}`)}\n@@ -1,${before.length} +1,${after.length} @@\n`;
    formattedDiff =
      header +
      before.map((line) => `-${line}\n`).join("") +
      after.map((line) => `+${line}\n`).join("");
  }
  return create(
    FileDiffSchema,
    defined({
      fileName: basename(path),
      filePath: join(workspace.root, path),
      newContent,
      formattedDiff,
      oldContent,
    }),
  );
}

function splitLines(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}

/**
 * Determines from the content of a file whether an edit was made.
 *
 * A write replaces the whole file at once, so there is no state in between.
 */
function editState(
  workspace: Workspace,
  { path, oldDigest, newDigest }: EditRecord,
): EditState {
  const content = workspace.readFile(path);
  const digest =
    content === undefined ? Buffer.alloc(0) : hash("sha256", content, "buffer");
  if (digest.equals(newDigest)) return "done";
  return digest.equals(oldDigest) ? "not begun" : "unknown";
}

/**
 * Determines the state of an edit that was in progress when the server stopped,
 * and removes its temporary files.
 *
 * An edit in state `done` has succeeded. An edit in state `not begun` may run
 * as it was approved.
 */
export function settleEdit(workspace: Workspace, edit: EditRecord): EditState {
  const directory = posix.dirname(edit.path);
  if (directory === "." || workspace.readDirectory(directory)) {
    workspace.removeLeftovers(directory);
  }
  return editState(workspace, edit);
}
