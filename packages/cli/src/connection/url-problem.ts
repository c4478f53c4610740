import { Code, ConnectError } from "@connectrpc/connect";
import { shownUrl } from "@devtool/internal/shown-url";

/**
 * Returns the error that says why the agent at a URL of the user's cannot be
 * used, and what to do about it.
 */
export function urlProblem(url: string, reason: unknown): ConnectError {
  const { code, rawMessage } = ConnectError.from(reason);
  const start = `the agent at ${JSON.stringify(shownUrl(url))} cannot be used: `;
  if (rawMessage.startsWith(start)) return ConnectError.from(reason);
  const problem = `${start}${diagnosis(url, reason) ?? rawMessage}`;
  return new ConnectError(problem, code, undefined, undefined, reason);
}

/**
 * Returns whether a server was not reached at all: nothing listens, its host is
 * not known, it does not speak TLS, or its certificate is not trusted.
 */
export function isNotConnected(reason: unknown): boolean {
  return /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EPROTO)$|^ERR_SSL_|CERT|SELF_SIGNED|^UNABLE_TO_/.test(
    causeCode(reason),
  );
}

/** Returns an error and its causes, the outermost first. */
function causesOf(reason: unknown): readonly (Error & { code?: unknown })[] {
  const causes: Error[] = [];
  for (
    let each = reason;
    each instanceof Error && causes.length < 8;
    each = each.cause
  ) {
    causes.push(each);
  }
  return causes;
}

/** Returns the first code of Node, OpenSSL or undici; empty without one. */
function causeCode(reason: unknown): string {
  const [code = ""] = causesOf(reason).flatMap((each) =>
    typeof each.code === "string" ? [each.code] : [],
  );
  return code;
}

/**
 * Describes the cause of an error, or its code, for users. Undefined if its
 * message says enough.
 */
function diagnosis(url: string, reason: unknown): string | undefined {
  const { code, rawMessage } = ConnectError.from(reason);
  const causes = causesOf(reason);
  const cause = causeCode(reason);
  const { protocol = "", hostname = url, host = url } = URL.parse(url) ?? {};
  if (cause === "ECONNREFUSED") {
    return `nothing listens at ${host} (${cause}): start the agent, or check host and port`;
  }
  if (cause === "ENOTFOUND" || cause === "EAI_AGAIN") {
    return `the host name ${JSON.stringify(hostname)} is not known (${cause}): check its spelling and your network`;
  }
  if (/^ERR_SSL_|^EPROTO$/.test(cause) && protocol === "https:") {
    return `${host} does not speak TLS (${cause}): write the URL with http://`;
  }
  if (/CERT|SELF_SIGNED|^UNABLE_TO_/.test(cause)) {
    return `its certificate is not trusted (${cause}): name a file with its authority in NODE_EXTRA_CA_CERTS, or check the host`;
  }
  if (code === Code.Unavailable && cause !== "" && protocol === "http:") {
    return `${host} closed the connection or does not speak HTTP (${cause}): if it speaks TLS, write the URL with https://`;
  }
  const [, status, why = ""] =
    /has no card: HTTP (\d+)(?:: (.+))?/.exec(rawMessage) ?? [];
  if (status === "403" && why !== "") {
    return `its card is refused (HTTP 403): ${why}`;
  }
  if (status === "401" || status === "403") {
    return `its card is refused without credentials (HTTP ${status}): make /.well-known/agent-card.json public, the token is sent with calls alone`;
  }
  if (status !== undefined) {
    return `there is no card (HTTP ${status}): check the path, the card is looked for at /.well-known/agent-card.json below it and of the host`;
  }
  if (rawMessage === "the document is not valid JSON") {
    return "its card is not valid JSON: check that the URL is that of an A2A agent and not of a web page";
  }
  if (code === Code.Unavailable && rawMessage === "the connection was lost") {
    return `it was not reached (${causes.at(-1)?.message ?? ""}): check host and port`;
  }
  return undefined;
}
