import { basename } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { type FileDiff, FileDiffSchema } from "@devtool/schema";
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import type { ToolEvent, ToolInvocation } from "../tool.ts";
import { diffResult, failureResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";

/** A change of one file that a tool proposes. */
export interface FileEdit {
  readonly workspace: Workspace;
  /** The path in the workspace. */
  readonly path: string;
  /** The content when the change was proposed; undefined when there was no file. */
  readonly oldContent: string | undefined;
  readonly newContent: string;
  /** Says the change in the arguments of the tool that proposes it. */
  readonly argsFor: (newContent: string) => JsonObject;
}

/** The call that makes a change once it is approved: as proposed, or with the user's content (TOOL-6). */
export function fileEditInvocation(edit: FileEdit): ToolInvocation {
  const words = edit.oldContent === undefined ? "Create" : "Change";
  return {
    args: edit.argsFor(edit.newContent),
    description: `${words} ${edit.path}`,
    confirmation: { case: "fileEditDetails", value: fileDiff(edit) },
    withContent: (newContent) => userEditInvocation({ ...edit, newContent }),
    execute: () => apply(edit, fileDiff(edit)),
  };
}

function userEditInvocation(edit: FileEdit): ToolInvocation {
  const diff = fileDiff(edit);
  const formattedDiff = `The user changed the proposed content.\n${diff.formattedDiff ?? ""}`;
  return {
    args: edit.argsFor(edit.newContent),
    description: `Change ${edit.path} as the user edited it`,
    confirmation: { case: "fileEditDetails", value: diff },
    execute: () => apply(edit, { ...diff, formattedDiff }),
  };
}

/** Writes the content, unless the file is no longer the one that the user was shown. */
async function* apply({ workspace, path, oldContent, newContent }: FileEdit, diff: FileDiff): AsyncIterable<ToolEvent> {
  const current = workspace.readFile(path)?.toString("utf8");
  if (current !== oldContent) {
    yield failureResult(
      "execution_failed",
      `file ${JSON.stringify(path)} changed after the edit was proposed: read it again`,
    );
    return;
  }
  workspace.writeFile(path, newContent);
  yield diffResult(diff);
}

function fileDiff({ path, oldContent, newContent }: FileEdit): FileDiff {
  const from = oldContent === undefined ? "/dev/null" : `a/${path}`;
  return create(FileDiffSchema, {
    fileName: basename(path),
    filePath: path,
    newContent,
    formattedDiff: createTwoFilesPatch(from, `b/${path}`, oldContent ?? "", newContent, undefined, undefined, {
      headerOptions: FILE_HEADERS_ONLY,
    }),
    ...(oldContent !== undefined && { oldContent }),
  });
}
