import { TLSSocket } from "node:tls";
import type { Right } from "../../handler/caller.ts";
import type { HttpRequest } from "../http/route.ts";
import type { Authenticator } from "./authenticator.ts";

/**
 * Knows callers by the certificate of their connection, once TLS has checked it against the operator's authorities. The
 * principal is issuer and subject, so that a renewed certificate is the same caller.
 */
export function createCertificateAuthenticator(rights: ReadonlySet<Right>): Authenticator {
  return {
    authenticate(request) {
      // Other credentials were looked at before, and what is wrong with them is not made good by the machine they come from.
      if (request.headers.authorization !== undefined) return { case: "none" };
      const socket = socketOf(request);
      const certificate = socket?.getPeerX509Certificate();
      if (!socket || !certificate) return { case: "none" };
      if (!socket.authorized) return { case: "wrong", message: "the client certificate is of no authority we know" };
      const { issuer, subject } = certificate;
      // A name may be empty, and Node has none then: all who have no name would be one principal.
      if (!issuer || !subject) return { case: "wrong", message: "the client certificate names no subject" };
      const principal = `x509:${nameIn(issuer)}#${nameIn(subject)}`;
      return { case: "caller", value: { principal, rights } };
    },
  };
}

/** In HTTP/2 the socket of a request is a proxy that hides the real one's class; its session has the real one's facts. */
function socketOf(request: HttpRequest): TLSSocket | undefined {
  const socket = "stream" in request ? request.stream.session?.socket : request.socket;
  return socket instanceof TLSSocket ? socket : undefined;
}

/** A distinguished name in one line. */
function nameIn(name: string): string {
  return name.split("\n").map(encodeURIComponent).join(",");
}
