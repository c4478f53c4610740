/**
 * Describes why a request got no answer, in place of the reasons of Node such
 * as `fetch failed`: what is at the URL, and what to do.
 */
export function networkProblem(url: string, reason: unknown): string {
  const { host = url, hostname = url, protocol = "" } = URL.parse(url) ?? {};
  const causes = causesOf(reason);
  const [code = ""] = causes.flatMap((each) =>
    "code" in each && typeof each.code === "string" ? [each.code] : [],
  );
  switch (code) {
    case "ECONNREFUSED":
      return `nothing listens at ${host} (${code}): start the server, or check host and port`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `the host name "${hostname}" is not known (${code}): check its spelling and your network`;
    case "ECONNRESET":
    case "EPIPE":
    case "UND_ERR_SOCKET": {
      const hint =
        protocol === "http:" ? "; if it speaks TLS, write https://" : "";
      return `${host} closed the connection before its answer ended (${code})${hint}`;
    }
    default:
      break;
  }
  if (/^ERR_SSL_|^EPROTO$/.test(code)) {
    return `${host} does not speak TLS (${code}): write the URL with http://`;
  }
  if (/CERT|SELF_SIGNED|^UNABLE_TO_/.test(code)) {
    return `the certificate of ${host} is not trusted (${code}): name a file with its authority in NODE_EXTRA_CA_CERTS`;
  }
  if (code.startsWith("HPE_")) {
    return `${host} does not answer in HTTP/1.1 (${code})`;
  }
  const { message = String(reason) } = causes.at(-1) ?? {};
  return `${host} cannot be reached: ${message}`;
}

/**
 * Returns an error and its causes, the outermost first.
 */
function causesOf(reason: unknown): readonly Error[] {
  return reason instanceof Error ? [reason, ...causesOf(reason.cause)] : [];
}
