import { type DescMessage, isMessage, type Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { shorten } from "@devtool/internal/cut-text";
import { EXTENSION_URI } from "@devtool/schema";
import {
  A2aSendMessageRequestSchema,
  missingFields,
} from "@devtool/schema/a2a-v1";
import { invalid } from "../../errors.ts";
import { callKeys } from "../../handler/caller.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import {
  type Activation,
  type AskedView,
  activationOf,
} from "../a2a/activation.ts";
import { showsExtension } from "../a2a/extension-signs.ts";
import { parseLastEventId } from "../a2a/last-event-id.ts";
import {
  extensionNeeded,
  meetsRequirement,
} from "../a2a/required-extension.ts";
import { A2aFailure, InvalidRequest } from "./errors.ts";
import { extensionSignsV1, type SigningRequest } from "./extension-signs.ts";
import { type ResponseFor, streamResponseFor } from "./frames.ts";
import { assertVersion } from "./version.ts";

/** A call of a method, after the checks that all methods have in common. */
export interface A2aV1Call {
  readonly context: HandlerContext;

  /** The agent that the call is addressed to; empty for the default one. */
  readonly agent: string;

  /** The view that the client asks for (CARD-3). */
  readonly view: AskedView;

  /** Whether the call activates the extension in its conversation. */
  readonly activates: boolean;

  /**
   * Makes the response name the extension as active.
   *
   * Has no effect once the response headers are sent.
   */
  readonly nameExtension: () => void;

  /**
   * Returns an event as an element of a stream, made once for all its readers.
   */
  readonly responseFor: ResponseFor;

  /**
   * The sequence of the last event that the client has, from `Last-Event-ID`;
   * undefined when it sent none.
   */
  readonly lastEventId: bigint | undefined;
}

/** The fields that all or some requests have. */
interface Request extends Message, SigningRequest {
  readonly tenant?: string;
}

/** How a method uses the extension, as far as its request shows. */
interface ExtensionUse {
  /** Whether the request shows that its client knows the extension. */
  readonly knowsExtension: boolean;
  /** Whether the request begins or continues a conversation. */
  readonly startsTurn: boolean;
}

/** Options of `openCall`. */
interface OpenCallOptions {
  readonly context: HandlerContext;

  /**
   * The agents that a tenant can name. Default: none, so that a tenant is any
   * text.
   */
  readonly agents?: ReadonlyMap<string, unknown> | undefined;

  /** Default: as the request shows. */
  readonly use?: ExtensionUse;

  /** Default: encodes an event for each reader. */
  readonly responseFor?: ResponseFor;
}

const MAX_TENANT_LENGTH = 200;

/**
 * Opens a call: checks its version and required fields, then decides on its
 * tenant, agent and use of the extension.
 */
export function openCall(
  schema: DescMessage,
  request: Request,
  options: OpenCallOptions,
): A2aV1Call {
  const {
    context,
    agents = new Map(),
    responseFor = streamResponseFor,
  } = options;
  const { requestHeader } = context;
  assertVersion(requestHeader.get("a2a-version") ?? "");
  const missing = missingFields(schema, request);
  if (missing.length > 0) throw new InvalidRequest(missing);
  const agent = enterTenant(request.tenant ?? "", context, agents);
  const use = options.use ?? {
    knowsExtension: showsExtension(extensionSignsV1(request)),
    startsTurn: isMessage(request, A2aSendMessageRequestSchema),
  };
  const { view, activates, header } = activationIn(requestHeader, use);
  let isNamed = false;
  const nameExtension = (): void => {
    // Sets the header only once: this is called for each event.
    if (!isNamed) context.responseHeader.set(header, EXTENSION_URI);
    isNamed = true;
  };
  if (view === "extension") nameExtension();
  const lastEventId = parseLastEventId(
    requestHeader.get("last-event-id") ?? "",
  );
  return {
    ...{ context, agent, view, activates, nameExtension },
    ...{ responseFor, lastEventId },
  };
}

/**
 * Decides on the use of the extension by the headers of a request.
 *
 * Not within `openCall`, whose closures would keep the headers as long as a
 * stream lasts.
 */
function activationIn(headers: Headers, use: ExtensionUse): Activation {
  return activationOf({
    ...use,
    headerOf: (name) => headers.get(name) ?? undefined,
    ownHeader: "a2a-extensions",
  });
}

/**
 * Records the tenant of a call, and returns the agent that it names.
 *
 * Each tenant of a caller has its own tasks. Where there are several agents, a
 * tenant is `<agent>` or `<agent>/<tenant>`.
 */
function enterTenant(
  tenant: string,
  { values }: HandlerContext,
  agents: ReadonlyMap<string, unknown>,
): string {
  if (tenant === "") return "";
  if (tenant.length > MAX_TENANT_LENGTH) {
    throw invalid(
      "tenant",
      shorten(tenant, 41),
      `is too long: limit is ${MAX_TENANT_LENGTH} characters`,
    );
  }
  if (agents.size === 0) {
    values.set(callKeys.tenant, tenant);
    return "";
  }
  const [agent = "", ...rest] = tenant.split("/");
  if (!agents.has(agent)) {
    const remedy = `choose ${[...agents.keys()].join(", ")}`;
    throw invalid(
      "tenant",
      tenant,
      "does not begin with an agent that is served here",
      remedy,
    );
  }
  values.set(callKeys.agent, agent);
  values.set(callKeys.tenant, rest.join("/"));
  return agent;
}

/**
 * Throws for a call that does not use the extension, to an agent whose card
 * requires it (CARD-1).
 */
export async function assertExtension(
  handler: RequestHandler,
  request: Message & { readonly id?: string; readonly taskId?: string },
  { view, context }: A2aV1Call,
): Promise<void> {
  const isSend = isMessage(request, A2aSendMessageRequestSchema);
  const { taskId = "", contextId = "" } =
    (isSend ? request.message : undefined) ?? {};
  const place = isSend
    ? { taskId, contextId, isMessage: true }
    : {
        taskId: request.taskId ?? request.id ?? "",
        contextId: "",
        isMessage: false,
      };
  if (await meetsRequirement(handler, { view, place, context })) return;
  throw new A2aFailure(
    extensionNeeded("A2A-Extensions"),
    "EXTENSION_SUPPORT_REQUIRED",
    { extension: EXTENSION_URI },
  );
}
