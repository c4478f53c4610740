import type { X509Certificate } from "node:crypto";
import { defined } from "@devtool/internal/json";
import { COMMON_RIGHTS, type Right } from "../../handler/caller.ts";
import type { Authenticator } from "./authenticator.ts";
import { sourceOf } from "./authenticator.ts";
import { checkedRoles, type NamedRoles } from "./caller-roles.ts";

/** The client certificates that a server accepts. */
export interface CertificateOptions {
  /** The rights of callers with a certificate that TLS has verified. */
  readonly rights: readonly Right[];
  /**
   * The certificates of the authorities, in PEM: those of
   * `tls.clientAuthorities`.
   */
  readonly authorities: string;
  /**
   * The attribute of the subject that names the caller's roles.
   *
   * Default: callers have none.
   */
  readonly rolesAttribute?: "O" | "OU" | undefined;
}

/**
 * Creates an authenticator that identifies callers by their client certificate,
 * after TLS has verified it against the operator's authorities.
 *
 * The principal is made of issuer and subject, so that a renewed certificate is
 * the same caller.
 */
export function createCertificateAuthenticator(
  options: CertificateOptions,
): Authenticator {
  const rights = new Set([...COMMON_RIGHTS, ...options.rights]);
  const source = certificateSource(options);
  return {
    authenticate(request) {
      // Other authenticators have found these credentials wrong. A certificate
      // does not make them right.
      if (request.headers.authorization !== undefined) return { case: "none" };
      // The socket of an HTTP/2 request is a proxy that hides the class of the
      // real one. That of its session is not.
      const socket =
        "stream" in request ? request.stream.session?.socket : request.socket;
      const { TLSSocket } = process.getBuiltinModule("node:tls");
      if (!(socket instanceof TLSSocket)) return { case: "none" };
      const certificate = socket.getPeerX509Certificate();
      if (!certificate) return { case: "none" };
      if (!socket.authorized) {
        return {
          case: "wrong",
          message:
            "the client certificate is not issued by an accepted authority",
        };
      }
      const { issuer, subject } = certificate;
      // Node has no name for an empty one. All callers without a subject would
      // be the same principal.
      if (!issuer || !subject) {
        return {
          case: "wrong",
          message: "the client certificate names no subject",
        };
      }
      const roles = rolesOf(certificate, options);
      if (roles?.case === "wrong") {
        return {
          case: "wrong",
          message: `the client certificate is not accepted: its ${roles.problem}`,
        };
      }
      const principal = `x509:${encodeName(issuer)}#${encodeName(subject)}`;
      return {
        case: "caller",
        value: {
          principal,
          rights,
          source,
          expireMs: Date.parse(certificate.validTo),
          ...defined({ roles: roles?.value }),
        },
      };
    },
  };
}

/**
 * Identifies the authorities and what their certificates may do
 * (`Caller.source`).
 */
export function certificateSource({
  rights,
  authorities,
  rolesAttribute,
}: CertificateOptions): string {
  return sourceOf(
    "certificate",
    [...rights].sort(),
    authorities,
    // Without it, the source is that of earlier versions.
    ...(rolesAttribute === undefined ? [] : [{ rolesAttribute }]),
  );
}

/**
 * Returns the roles that a certificate names; undefined where certificates name
 * none.
 */
function rolesOf(
  certificate: X509Certificate,
  { rolesAttribute }: CertificateOptions,
): NamedRoles | undefined {
  if (rolesAttribute === undefined) return undefined;
  // Here values are as the certificate has them. In the text of the subject
  // they are escaped.
  const { [rolesAttribute]: named = [] } = certificate.toLegacyObject().subject;
  return checkedRoles([named].flat(), rolesAttribute);
}

/**
 * Encodes a distinguished name, which Node gives with an attribute per line, on
 * a single line.
 */
function encodeName(name: string): string {
  return name.split("\n").map(encodeURIComponent).join(",");
}
