import type { JsonObject } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";

/**
 * An action that the client performs for the agent: on a file, or a command.
 * Paths are in the workspace.
 */
export type ClientAction =
  | { readonly case: "read"; readonly path: string }
  | {
      readonly case: "write";
      readonly path: string;
      readonly content: string;
      /**
       * The present content; undefined for a new file, and for one that cannot
       * be shown.
       */
      readonly oldContent: string | undefined;
      /**
       * Whether there is a file whose content cannot be shown: it is too large,
       * or not text in UTF-8.
       */
      readonly isHidden: boolean;
    }
  | {
      readonly case: "run";
      /** The command line, with the variables that the agent sets before it. */
      readonly command: string;
      /**
       * The script, for a shell that runs one; otherwise the command line
       * again.
       */
      readonly script: string;
      readonly directory: string;
    };

/** Decides about the actions of an agent before they are done. */
export interface ClientGate {
  /**
   * Does an action once it is allowed. Throws `Code.FailedPrecondition` when it
   * is not, and `Code.Canceled` when its turn ends.
   */
  run<Result>(
    action: ClientAction,
    perform: () => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
}

/** The id of the option that allows an action. */
export const ALLOW = "allow";

/** The options of a question about an action. */
export const ACTION_OPTIONS: JsonObject[] = [
  { optionId: ALLOW, name: "Allow once", kind: "allow_once" },
  { optionId: "decline", name: "Decline", kind: "reject_once" },
];

/** Returns what is done, for an error: `writing "/w/a"`. */
export function nameOf(action: ClientAction): string {
  switch (action.case) {
    case "read":
      return `reading ${JSON.stringify(action.path)}`;
    case "write":
      return `writing ${JSON.stringify(action.path)}`;
    case "run":
      return `running ${JSON.stringify(action.command)}`;
    default:
      return action satisfies never;
  }
}

/** Returns an action as ACP describes a call. */
export function actionCall(action: ClientAction): JsonObject {
  switch (action.case) {
    case "read": {
      const { path } = action;
      return {
        name: "read_text_file",
        title: path,
        kind: "read",
        rawInput: { path },
        locations: [{ path }],
      };
    }
    case "write": {
      const { path, content: newText, oldContent, isHidden } = action;
      const title = isHidden
        ? `${path} (replaces a file that is too large or not text)`
        : path;
      const diff = defined({
        type: "diff",
        path,
        newText,
        oldText: oldContent,
      });
      return {
        name: "write_text_file",
        title,
        kind: "edit",
        rawInput: { path },
        content: [diff],
      };
    }
    case "run": {
      const { command, directory: cwd } = action;
      return {
        name: "create_terminal",
        title: command,
        kind: "execute",
        rawInput: { command, cwd },
      };
    }
    default:
      return action satisfies never;
  }
}
