import { basename, join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { type FileDiff, FileDiffSchema } from "@devtool/schema";
import { invalid } from "@devtool/server/agent";
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import type { ToolEvent, ToolInvocation } from "../tool.ts";
import { diffResult, failureResult } from "../tool-result.ts";
import { MAX_FILE_BYTES, type Workspace } from "../workspace.ts";
import { editRecord, editState } from "./file-edit-effect.ts";

/** A change of one file that a tool proposes. */
export interface FileEdit {
  readonly workspace: Workspace;
  /** The path in the workspace. */
  readonly path: string;
  /** The content when the change was proposed; undefined when there was no file. */
  readonly oldContent: string | undefined;
  readonly newContent: string;
  /** The arguments of the tool that proposes the change. */
  readonly args: JsonObject;
  /** Says the change to another content in the arguments of that tool. */
  readonly argsFor: (newContent: string) => JsonObject;
}

/**
 * The call that makes a change once it is approved: as proposed, or with the user's content (TOOL-6). It writes only
 * over the content that was shown, and finds a change that was made already to be done. Throws when the file would
 * be too large to be read again.
 */
export function fileEditInvocation(edit: FileEdit): ToolInvocation {
  const words = edit.oldContent === undefined ? "Create" : "Change";
  return {
    ...invocationOf(edit, `${words} ${edit.path}`, fileDiff(edit)),
    withContent: (newContent) => userEditInvocation({ ...edit, args: edit.argsFor(newContent), newContent }),
  };
}

function userEditInvocation(edit: FileEdit): ToolInvocation {
  return invocationOf(edit, `Change ${edit.path} as the user edited it`, fileDiff(edit));
}

function invocationOf(edit: FileEdit, description: string, diff: FileDiff): ToolInvocation {
  assertWritable(edit);
  return {
    args: edit.args,
    description,
    confirmation: { case: "fileEditDetails", value: diff },
    edit: editRecord(edit.path, edit.oldContent, edit.newContent),
    execute: () => apply(edit, diff),
  };
}

function assertWritable({ path, newContent }: FileEdit): void {
  const bytes = Buffer.byteLength(newContent);
  if (bytes <= MAX_FILE_BYTES) return;
  throw invalid("file_path", path, `would have ${bytes} bytes, limit is ${MAX_FILE_BYTES}`, "split it");
}

/** Writes the content, unless the file is no longer the one that the user was shown. */
async function* apply({ workspace, path, oldContent, newContent }: FileEdit, diff: FileDiff): AsyncIterable<ToolEvent> {
  const state = editState(workspace, editRecord(path, oldContent, newContent));
  if (state === "unknown") {
    const message = `file ${JSON.stringify(path)} changed since it was shown: read it again and propose the edit anew`;
    yield failureResult("execution_failed", message);
    return;
  }
  if (state === "not begun") workspace.writeFile(path, newContent);
  yield diffResult(diff);
}

function fileDiff(edit: FileEdit): FileDiff {
  const { workspace, path, oldContent, newContent } = edit;
  return create(FileDiffSchema, {
    fileName: basename(path),
    filePath: join(workspace.root, path),
    newContent,
    formattedDiff: unifiedDiff(edit),
    ...(oldContent !== undefined && { oldContent }),
  });
}

/** A comparison gives up after so many changed lines: it takes the square of them. Never by time, for a digest covers it. */
const MAX_CHANGED_LINES = 1000;

function unifiedDiff({ path, oldContent, newContent }: FileEdit): string {
  const from = oldContent === undefined ? "/dev/null" : `a/${path}`;
  const patch = createTwoFilesPatch(from, `b/${path}`, oldContent ?? "", newContent, undefined, undefined, {
    headerOptions: FILE_HEADERS_ONLY,
    maxEditLength: MAX_CHANGED_LINES,
  });
  return patch ?? wholeDiff(from, path, { oldContent: oldContent ?? "", newContent });
}

/** A diff that takes all lines out and puts all new ones in. */
function wholeDiff(
  from: string,
  path: string,
  { oldContent, newContent }: { readonly oldContent: string; readonly newContent: string },
): string {
  const [before, after] = [linesOf(oldContent), linesOf(newContent)];
  const header = `--- ${from}\n+++ b/${path}\n@@ -1,${before.length} +1,${after.length} @@\n`;
  return header + before.map((line) => `-${line}\n`).join("") + after.map((line) => `+${line}\n`).join("");
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}
