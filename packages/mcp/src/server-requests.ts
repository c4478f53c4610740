import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { Code, DevtoolError } from "@devtool/server/agent";
import type {
  Client,
  ClientCapabilities,
  CreateMessageRequest,
  CreateMessageResult,
  ElicitRequest,
  ElicitResult,
  jsonSchemaValidator,
  ListRootsResult,
} from "@modelcontextprotocol/client";
import type { CallHooks } from "./call-events.ts";
import { elicit } from "./elicitation.ts";
import { showJson } from "./message-problem.ts";
import { sampleForServer } from "./sampling.ts";
import { loadSdk } from "./sdk.ts";
import type { AskingServer } from "./server-place.ts";
import type { ServerSecrets } from "./server-secrets.ts";
import { TASKS_EXTENSION } from "./task-call.ts";

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
  extensions: { [TASKS_EXTENSION]: {} },
  roots: {},
  elicitation: { form: { applyDefaults: true }, url: {} },
  sampling: {},
};

/** Answers a request of a server. Rejects for one that cannot be answered. */
export type AnswerRequest = (
  request: unknown,
  signal: AbortSignal,
) => Promise<ElicitResult | CreateMessageResult | ListRootsResult>;

/**
 * Answers the requests of a server: for roots at once, for anything else by
 * asking the user. Returns the same for requests that come in another way.
 *
 * A request is refused while no call of the server runs.
 */
export function answerRequests(
  client: Client,
  requests: ServerRequests,
): AnswerRequest {
  const { server, secrets, workspacePath, validator, findCall } = requests;
  const roots = [
    { uri: pathToFileURL(workspacePath).href, name: basename(workspacePath) },
  ];
  const elicitFor = async (
    request: ElicitRequest,
    signal: AbortSignal,
  ): Promise<ElicitResult> => {
    const hooks = findCall();
    if (!hooks) return { action: "cancel" };
    const asked = secrets.hideIn(request);
    return elicit(server, asked, { hooks, validator }, signal);
  };
  const sample = async (
    request: CreateMessageRequest,
    signal: AbortSignal,
  ): Promise<CreateMessageResult> => {
    const hooks = findCall();
    if (!hooks) {
      throw new DevtoolError(
        "no call runs that could ask the model",
        Code.FailedPrecondition,
      );
    }
    return sampleForServer(secrets.hideIn(request), { server, hooks }, signal);
  };
  client.setRequestHandler("roots/list", () => ({ roots }));
  client.setRequestHandler("elicitation/create", (request, { mcpReq }) =>
    elicitFor(request, mcpReq.signal),
  );
  client.setRequestHandler("sampling/createMessage", (request, { mcpReq }) =>
    sample(request, mcpReq.signal),
  );
  return async (request, signal) => {
    const { isSpecType } = await loadSdk();
    if (isSpecType.ElicitRequest(request)) return elicitFor(request, signal);
    if (isSpecType.CreateMessageRequest(request)) {
      return sample(request, signal);
    }
    if (isSpecType.ListRootsRequest(request)) return { roots };
    throw new DevtoolError(
      `the server asks for ${showJson(request)}, which is no request that this client answers`,
      Code.InvalidArgument,
    );
  };
}
