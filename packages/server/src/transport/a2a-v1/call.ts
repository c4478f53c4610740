import { type DescMessage, isMessage, type Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { EXTENSION_URI } from "@devtool/schema";
import { A2aSendMessageRequestSchema, missingFields, type SigningRequest, signsOf } from "@devtool/schema/a2a-v1";
import { type StreamView, showsExtension } from "@devtool/schema/a2a-v03";
import { invalid } from "../../errors.ts";
import { agentKey } from "../../handler/addressed-agent.ts";
import { tenantKey } from "../../handler/caller.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { type ActivationRequest, type Active, type AskedView, activationOf, viewOf } from "../a2a/activation.ts";
import { readLastEventId } from "../a2a/last-event-id.ts";
import { type CallPlace, extensionNeeded, meetsRequirement } from "../a2a/required-extension.ts";
import { A2aFailure, InvalidRequest } from "./errors.ts";
import { type ResponseOf, responseOf } from "./frames.ts";
import { isVersion1 } from "./version.ts";

/** One call of a method, after what all methods have in common was settled. */
export interface Call {
  readonly context: HandlerContext;
  /** How much of the conversation the client asks to be shown (CARD-3). */
  readonly view: AskedView;
  /** Whether the call makes the extension active in its conversation. */
  readonly activates: boolean;
  /** Makes the response name the extension as active, unless its headers were sent already. */
  readonly nameExtension: () => void;
  /** Makes the element of a stream for an event, once for all its readers. */
  readonly responseOf: ResponseOf;
  /** The sequence of the last event that the client has, by `Last-Event-ID`; undefined when it sent none. */
  readonly lastEventId: bigint | undefined;
}

/** The fields that all or some requests have. */
interface Request extends Message, SigningRequest {
  readonly tenant?: string;
}

/** What a method knows about the extension before it reads a request. */
type KnownActivation = Pick<ActivationRequest, "shows" | "speaks">;

/** Where a call comes from, and what may be chosen in it. */
interface Opening {
  readonly context: HandlerContext;
  /** The agents that a tenant can name. Default: none, so that a tenant is any text. */
  readonly agents?: ReadonlySet<string> | ReadonlyMap<string, unknown>;
  readonly known?: KnownActivation;
  /** Default: makes an element for each reader. */
  readonly responseOf?: ResponseOf;
}

const NO_AGENTS: ReadonlySet<string> = new Set();

/** Settles version, required fields, tenant and extension of a call. A method of the extension itself passes what it shows. */
export function openCall(
  schema: DescMessage,
  request: Request,
  { context, agents, known = activationIn(request), responseOf: shared = responseOf }: Opening,
): Call {
  const { requestHeader, responseHeader } = context;
  assertVersion(requestHeader.get("a2a-version") ?? "");
  const missing = missingFields(schema, request);
  if (missing.length > 0) throw new InvalidRequest(missing);
  enterTenant(request.tenant ?? "", context, agents ?? NO_AGENTS);
  const headerOf = (name: string): string | undefined => requestHeader.get(name) ?? undefined;
  const { view, activates, header } = activationOf({ headerOf, ownHeader: "a2a-extensions", ...known });
  let isNamed = false;
  const nameExtension = (): void => {
    // It is called for each event.
    if (!isNamed) responseHeader.set(header, EXTENSION_URI);
    isNamed = true;
  };
  if (view === "extension") nameExtension();
  return {
    context,
    view,
    activates,
    nameExtension,
    responseOf: shared,
    lastEventId: readLastEventId(requestHeader.get("last-event-id") ?? ""),
  };
}

function activationIn(request: Request): KnownActivation {
  return { shows: showsExtension(signsOf(request)), speaks: isMessage(request, A2aSendMessageRequestSchema) };
}

/** The view in which a call shows a task or an event. Where that is the extension's, the response names it. */
export function shownView({ view, nameExtension }: Pick<Call, "view" | "nameExtension">, shown: Active): StreamView {
  const found = viewOf(view, shown);
  if (found === "extension") nameExtension();
  return found;
}

/** Refuses a call that does not use the extension where the card says that it must (CARD-1). */
export async function assertExtension(handler: RequestHandler, request: Message, call: Call): Promise<void> {
  const { view, context } = call;
  if (await meetsRequirement(handler, { view, place: placeOf(request), context })) return;
  throw new A2aFailure(extensionNeeded("A2A-Extensions"), "EXTENSION_SUPPORT_REQUIRED", { extension: EXTENSION_URI });
}

function placeOf(request: Message & { readonly id?: string; readonly taskId?: string }): CallPlace {
  if (!isMessage(request, A2aSendMessageRequestSchema)) {
    return { taskId: request.taskId ?? request.id ?? "", contextId: "", isMessage: false };
  }
  const { taskId = "", contextId = "" } = request.message ?? {};
  return { taskId, contextId, isMessage: true };
}

/** The versions of A2A that are served, as an error lists them. */
const VERSIONS = "0.3, 1.0";

/** Throws when a client asks for a version that is not spoken here. One that asks for none has chosen by its method. */
export function assertVersion(version: string): void {
  if (version.trim() === "" || isVersion1(version)) return;
  const message = `A2A version ${JSON.stringify(version.slice(0, 40))} is not supported here: choose one of ${VERSIONS}`;
  throw new A2aFailure(message, "VERSION_NOT_SUPPORTED", { supportedVersions: VERSIONS });
}

/**
 * Tenants have tasks of their own: a caller of one tenant does not see what the same caller has in another. Where there are
 * several agents, a tenant is `<agent>` or `<agent>/<tenant>`.
 */
function enterTenant(text: string, { values }: HandlerContext, agents: NonNullable<Opening["agents"]>): void {
  if (text === "") return;
  if (text.length > 200) throw invalid("tenant", `${text.slice(0, 40)}…`, "is too long: limit is 200 characters");
  if (agents.size === 0) return void values.set(tenantKey, text);
  const [agent = "", ...rest] = text.split("/");
  if (!agents.has(agent)) {
    throw invalid(
      "tenant",
      text,
      "does not begin with an agent that is served here",
      `choose ${[...agents.keys()].join(", ")}`,
    );
  }
  values.set(agentKey, agent);
  values.set(tenantKey, rest.join("/"));
}
