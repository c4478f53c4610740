import type { JsonObject } from "@bufbuild/protobuf";

/** A call of a tool that shows files which its arguments do not name one by one. */
export interface WalkingCall {
  readonly toolName: string;
  readonly args: JsonObject;
  /** The paths in the workspace that its arguments name: the policy has decided about these. */
  readonly named: readonly string[];
  /** Whether it shows what is in files, or their names alone. */
  readonly shows: "content" | "names";
}

/** Makes the test whether a call may show a file of the workspace, by its path. */
export type FileAccess = (call: WalkingCall) => (path: string) => boolean;

/** Says what the rules decide about reading a file of the workspace, by its path. */
export type ReadDecision = (path: string) => "allow" | "ask" | "deny";
