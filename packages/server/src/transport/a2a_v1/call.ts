import type { DescMessage, JsonObject, Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { EXTENSION_URI, isExtensionUri } from "@devtool/schema";
import { missingFields } from "@devtool/schema/a2a-v1";
import { extensionMetadata, type StreamView } from "@devtool/schema/a2a-v03";
import { invalid } from "../../errors.ts";
import { principalKey } from "../../handler/request-handler.ts";
import { A2aFailure, InvalidRequest } from "./errors.ts";
import { isVersion1 } from "./version.ts";

/** One call of a method, after what all methods have in common was settled. */
export interface Call {
  readonly context: HandlerContext;
  /** How much of events the client is shown (CARD-3). */
  readonly view: StreamView;
  /** The sequence of the last event that the client has, by `Last-Event-ID`; undefined when it sent none. */
  readonly lastEventId: bigint | undefined;
}

/** The fields that all or some requests have. */
interface Request extends Message {
  readonly tenant?: string;
  readonly metadata?: JsonObject;
  readonly message?: { readonly metadata?: JsonObject };
}

/** Settles version, required fields, tenant and extension of a call, and says in the response which one is active. */
export function openCall(
  schema: DescMessage,
  request: Request,
  { context, extensionRequired }: { readonly context: HandlerContext; readonly extensionRequired: boolean },
): Call {
  assertVersion(context.requestHeader.get("a2a-version") ?? "");
  const missing = missingFields(schema, request);
  if (missing.length > 0) throw new InvalidRequest(missing);
  enterTenant(request.tenant ?? "", context);
  const view = viewOf(request, context);
  if (extensionRequired && view === "plain") throw extensionNeeded();
  return { context, view, lastEventId: lastEventIdOf(context.requestHeader.get("last-event-id") ?? "") };
}

/** The versions of A2A that are served, as an error lists them. */
const VERSIONS = "0.3, 1.0";

/** Throws when a client asks for a version that is not spoken here. One that asks for none has chosen by its method. */
export function assertVersion(version: string): void {
  if (version.trim() === "" || isVersion1(version)) return;
  const message = `A2A version ${JSON.stringify(version.slice(0, 40))} is not supported here: choose one of ${VERSIONS}`;
  throw new A2aFailure(message, "VERSION_NOT_SUPPORTED", { supportedVersions: VERSIONS });
}

/** Tenants have tasks of their own: a caller of one tenant does not see what the same caller has in another. */
function enterTenant(tenant: string, { values }: HandlerContext): void {
  if (tenant === "") return;
  if (tenant.length > 200) throw invalid("tenant", `${tenant.slice(0, 40)}…`, "is too long: limit is 200 characters");
  values.set(principalKey, `tenant:${encodeURIComponent(tenant)}:${values.get(principalKey)}`);
}

const HEADERS = ["a2a-extensions", "x-a2a-extensions"] as const;

/** A client activates the extension by a header, or by data under its URI in the metadata of its request or message. */
function viewOf({ metadata, message }: Request, { requestHeader, responseHeader }: HandlerContext): StreamView {
  const named = HEADERS.find((name) => namesExtension(requestHeader.get(name) ?? ""));
  const holds = [metadata, message?.metadata].some((data) => extensionMetadata(data) !== undefined);
  if (named === undefined && !holds) return "plain";
  responseHeader.set(named ?? HEADERS[0], EXTENSION_URI);
  return "extension";
}

function namesExtension(header: string): boolean {
  return header.split(",").some((uri) => isExtensionUri(uri.trim()));
}

function extensionNeeded(): A2aFailure {
  const message = `this agent needs the development-tool extension: name ${EXTENSION_URI} in the header A2A-Extensions`;
  return new A2aFailure(message, "EXTENSION_SUPPORT_REQUIRED", { extension: EXTENSION_URI });
}

/** The position that a client resumes from (STREAM-3); throws when it is no sequence that we gave. */
function lastEventIdOf(id: string): bigint | undefined {
  if (id === "") return undefined;
  if (/^\d{1,18}$/.test(id)) return BigInt(id);
  throw invalid("Last-Event-ID", id, "is no sequence: send the id of an event");
}
