import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type { Sample } from "@devtool/coding-agent/tool";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { Client, ClientCapabilities, jsonSchemaValidator } from "@modelcontextprotocol/client";
import type { CallHooks } from "./call-hooks.ts";
import { elicit } from "./elicitation.ts";
import { sampleFor } from "./sampling.ts";
import type { AskingServer } from "./server-place.ts";
import type { ServerSecrets } from "./server-secrets.ts";

/** What a server may ask us, and how it is answered. */
export interface ServerRequests {
  readonly server: AskingServer;
  /** What none of its questions may say. */
  readonly secrets: ServerSecrets;
  /** The one root that servers are told. */
  readonly workspacePath: string;
  /** Asks the model on a server's behalf; undefined when servers cannot. */
  readonly sample: Sample | undefined;
  readonly validator: jsonSchemaValidator;
  /** The call on whose behalf the server asks; undefined when none runs. */
  readonly callOf: () => CallHooks | undefined;
}

/** What we tell a server that it may ask. */
export function capabilitiesFor({ sample }: Pick<ServerRequests, "sample">): ClientCapabilities {
  return { roots: {}, elicitation: { form: { applyDefaults: true }, url: {} }, ...(sample && { sampling: {} }) };
}

/** Answers what a server asks: its roots at once, the rest by asking the user. A server that asks while no call of it runs is refused. */
export function answerRequests(client: Client, requests: ServerRequests): void {
  const { server, secrets, workspacePath, sample, validator, callOf } = requests;
  const roots = [{ uri: pathToFileURL(workspacePath).href, name: basename(workspacePath) }];
  client.setRequestHandler("roots/list", () => ({ roots }));
  client.setRequestHandler("elicitation/create", async (request) => {
    const hooks = callOf();
    return hooks ? elicit(server, secrets.hideIn(request), { hooks, validator }) : { action: "cancel" };
  });
  if (!sample) return;
  client.setRequestHandler("sampling/createMessage", async (request, { mcpReq }) => {
    const hooks = callOf();
    if (!hooks) throw new DevtoolError("no call runs that could ask the model", Code.FailedPrecondition);
    return sampleFor(secrets.hideIn(request), { server, hooks, sample }, mcpReq.signal);
  });
}
