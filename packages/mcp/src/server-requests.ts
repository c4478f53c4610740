import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { Code, DevtoolError } from "@devtool/server/agent";
import type {
  Client,
  ClientCapabilities,
  jsonSchemaValidator,
} from "@modelcontextprotocol/client";
import type { CallHooks } from "./call-events.ts";
import { elicit } from "./elicitation.ts";
import { sampleForServer } from "./sampling.ts";
import type { AskingServer } from "./server-place.ts";
import type { ServerSecrets } from "./server-secrets.ts";

/** How requests from a server are answered. */
export interface ServerRequests {
  readonly server: AskingServer;
  /** The secrets that are hidden in questions to the user. */
  readonly secrets: ServerSecrets;
  /** The absolute path of the workspace, the only root that servers get. */
  readonly workspacePath: string;
  /** Checks the user's answers against the forms of the server. */
  readonly validator: jsonSchemaValidator;
  /**
   * Returns the call that a request of the server belongs to; undefined when
   * none runs.
   */
  readonly findCall: () => CallHooks | undefined;
}

/**
 * The capabilities that the client declares: the requests that a server may
 * send.
 */
export const CLIENT_CAPABILITIES: ClientCapabilities = {
  roots: {},
  elicitation: { form: { applyDefaults: true }, url: {} },
  sampling: {},
};

/**
 * Answers the requests of a server: for roots at once, for anything else by
 * asking the user.
 *
 * A request is refused while no call of the server runs.
 */
export function answerRequests(client: Client, requests: ServerRequests): void {
  const { server, secrets, workspacePath, validator, findCall } = requests;
  const roots = [
    { uri: pathToFileURL(workspacePath).href, name: basename(workspacePath) },
  ];
  client.setRequestHandler("roots/list", () => ({ roots }));
  client.setRequestHandler(
    "elicitation/create",
    async (request, { mcpReq }) => {
      const hooks = findCall();
      if (!hooks) return { action: "cancel" };
      const asked = secrets.hideIn(request);
      return elicit(server, asked, { hooks, validator }, mcpReq.signal);
    },
  );
  client.setRequestHandler(
    "sampling/createMessage",
    async (request, { mcpReq }) => {
      const hooks = findCall();
      if (!hooks) {
        throw new DevtoolError(
          "no call runs that could ask the model",
          Code.FailedPrecondition,
        );
      }
      return sampleForServer(
        secrets.hideIn(request),
        { server, hooks },
        mcpReq.signal,
      );
    },
  );
}
