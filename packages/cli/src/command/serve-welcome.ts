import { resolve } from "node:path";
import type { ServerInfo } from "@devtool/schema/operator";
import {
  defaultDataDirectory,
  discoveryPath,
} from "../connection/discovery.ts";
import type { Io } from "../io.ts";
import { ownCommand } from "../own-command.ts";
import type { Profile } from "../tck/profile.ts";

/** The facts that `devtool serve` tells when its server has started. */
interface Welcome {
  /** The workspace as the user named it. Default: the current directory. */
  readonly workspace?: string;
  /** The test kit for which the server runs. Default: none. */
  readonly profile?: Profile;
  /** Whether callers need no credentials. Default: they do. */
  readonly anonymous?: true;
  /** The data directory. */
  readonly data: string;
  /** The address that the server is bound to, such as `0.0.0.0`. */
  readonly host: string;
  /** The name of the model that answers. Empty for an agent that names none. */
  readonly model: string;
  /** The configured model with its API. Empty for the scripted model. */
  readonly modelLine: string;
  readonly publicUrl: string;
  readonly hasConsole: boolean;
  readonly isNewWorkspace: boolean;
}

/** Returns the text that a user reads when the server has started. */
export function welcomeText(
  info: ServerInfo,
  options: Welcome,
  io: Pick<Io, "env">,
): string {
  if (options.profile) return kitWelcome(options, options.profile);
  const { data, workspace, host, model, publicUrl } = options;
  const command = ownCommand(io.env);
  const at =
    data === resolve(defaultDataDirectory(io.env)) ? "" : ` --data ${data}`;
  const consoleLine = options.hasConsole
    ? `\n  console                  ${command} console`
    : "";
  const question = model === "" ? "Hello." : "What is this project about?";
  const example = model === "scripted" ? "write hello.txt hello\\n" : question;
  const port = info.url.slice(info.url.lastIndexOf(":") + 1);
  const bound =
    publicUrl === info.url ? "" : ` (listens at port ${port} of ${host})`;
  const made = options.isNewWorkspace ? ", a new directory" : "";
  return `devtool serves ${resolve(workspace ?? ".")}${made}

  A2A, Connect, gRPC       ${publicUrl}${bound}
  agent card               ${publicUrl}/.well-known/agent-card.json${consoleLine}
  bearer token             in ${discoveryPath(data)}
  ${servedLine(info.agent, options, command)}

Try it in a second terminal:

  ${command} chat${at}

and type, for instance:  ${example}

Ctrl-C stops the server. Its tasks are kept: after the next start, open
questions still wait for an answer, and a task that was interrupted continues
with your next message.`;
}

/**
 * Returns the line about the default agent's model, or about that agent when it
 * names no model.
 */
function servedLine(
  agent: string,
  { model, modelLine }: Welcome,
  command: string,
): string {
  if (model === "") return `agent                    ${agent}`;
  if (modelLine.startsWith(`${model} (`)) {
    return `model                    ${modelLine}`;
  }
  const hint = `runs prompts as scripts; for a model: ${command} login`;
  return `model                    ${model}${model === "scripted" ? ` (${hint})` : ""}`;
}

/**
 * Returns the message for a test kit's server. It says who may call, because
 * such a server admits more callers than usual.
 */
function kitWelcome(
  { data, anonymous, publicUrl: url }: Welcome,
  profile: Profile,
): string {
  const callers = anonymous
    ? "everybody on this machine, without credentials"
    : `with the bearer token in ${discoveryPath(data)}`;
  return `devtool serves the test agent for ${profile}; it has no tools and runs nothing

  A2A                      ${url}
  agent card               ${url}/.well-known/agent-card.json
  may call                 ${callers}
  may be posted to         any port of this machine
  tasks                    in ${data}

Ctrl-C stops the server.`;
}
