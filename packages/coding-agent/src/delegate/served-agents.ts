import { hash } from "node:crypto";
import { createDevtoolClient } from "@devtool/client";
import { ApprovalMode, type Task } from "@devtool/schema";
import {
  type AgentServices,
  Code,
  DevtoolError,
  quoted,
} from "@devtool/server/agent";
import type { CalledAgent, TaskSettings } from "./called-agent.ts";

type Directory = AgentServices["agents"];

/** Returns what identifies an agent of a server in a `CallChain`. */
export function servedChainId({ serverUrl }: Directory, name: string): string {
  return `${serverUrl}#${name}`;
}

/**
 * Returns the other agents of the server. Their tasks have the workspace, the
 * approval mode and the allowed tools of the task that calls them.
 *
 * @param own the name of the calling agent
 * @param modes the approval modes of a task, and of the operator
 */
export function servedAgents(
  directory: Directory,
  own: string,
  modes: (task: Task) => {
    readonly mode: ApprovalMode;
    readonly operatorMode: ApprovalMode;
  },
): readonly CalledAgent[] {
  const transportFor = transportsOf(directory);
  return directory.listed.flatMap(
    ({ name = "", description = "", follows }) => {
      if (name === "" || name === own) return [];
      const chainId = servedChainId(directory, name);
      const followed = new Set(follows?.settings);
      return {
        name,
        description,
        place: "of this server",
        chainId,
        definitionHash: hash("sha256", chainId),
        isOwnServer: true,
        connect: async (task) => ({
          client: createDevtoolClient(await transportFor(task)),
          isIdempotent: true,
        }),
        settingsFor: (task) => settingsFor(name, followed, task, modes(task)),
      };
    },
  );
}

/** Returns what connects to the server, anew only for another caller. */
function transportsOf(directory: Directory): Directory["transportFor"] {
  let last:
    | { readonly task: Task; readonly made: ReturnType<typeof transportFor> }
    | undefined;
  const transportFor = (task: Task): ReturnType<Directory["transportFor"]> => {
    const isSame =
      last?.task.principal === task.principal &&
      last.task.sender === task.sender;
    if (last && isSame) return last.made;
    last = { task, made: directory.transportFor(task) };
    return last.made;
  };
  return transportFor;
}

/** Returns the settings of a served agent for a task that another one causes. */
export function settingsFor(
  agent: string,
  followed: ReadonlySet<string>,
  { settings, sessionSettings, history }: Task,
  {
    mode,
    operatorMode,
  }: { readonly mode: ApprovalMode; readonly operatorMode: ApprovalMode },
): TaskSettings {
  const allowedTools = [...(sessionSettings?.allowedTools ?? [])];
  if (allowedTools.length > 0 && !followed.has("allowed_tools")) {
    throw ignores(agent, "allowed_tools");
  }
  const followsMode = followed.has("approval_mode");
  if (mode !== operatorMode && !followsMode) {
    throw ignores(agent, "approval_mode");
  }
  const budget = history.findLast(({ turnSettings }) => turnSettings)
    ?.turnSettings?.budget;
  return {
    ...(settings && { settings }),
    sessionSettings: {
      agent,
      allowedTools,
      // The operator may allow the called agent more than the calling one.
      approvalMode: followsMode ? mode : ApprovalMode.UNSPECIFIED,
    },
    ...(budget && { messageSettings: { turn: { budget } } }),
  };
}

function ignores(agent: string, setting: string): DevtoolError {
  return new DevtoolError(
    `agent ${quoted(agent)} does not follow ${setting} of this session, so it would do more than the session allows`,
    Code.FailedPrecondition,
  );
}
