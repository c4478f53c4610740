import { X509Certificate } from "node:crypto";
import type { PeerCertificate } from "node:tls";

/** TLS options for a server whose certificate is known. */
export interface PinnedTls {
  readonly ca: string;
  readonly allowPartialTrustChain: true;
  readonly checkServerIdentity: (
    host: string,
    certificate: PeerCertificate,
  ) => Error | undefined;
}

/**
 * Returns options that trust only the first certificate of a chain in PEM,
 * whatever its issuer and names.
 *
 * Throws when the text holds no certificate.
 */
export function pinnedTls(chain: string): PinnedTls {
  const pinned = new X509Certificate(chain);
  return {
    ca: pinned.toString(),
    allowPartialTrustChain: true,
    checkServerIdentity: (host, { raw }) =>
      raw.equals(pinned.raw)
        ? undefined
        : new Error(`${host} has a different certificate than its server.json`),
  };
}

/**
 * Returns a `fetch` that trusts only one certificate, as `pinnedTls` does. It
 * supports URLs, and strings as bodies.
 */
export async function pinnedFetch(
  chain: string,
): Promise<typeof globalThis.fetch> {
  const { Agent, fetch } = await import("undici");
  const dispatcher = new Agent({ connect: pinnedTls(chain) });
  return (
    input,
    { method = "GET", headers, body, signal = null, redirect = "follow" } = {},
  ) => {
    if (input instanceof Request || (body && typeof body !== "string")) {
      throw new TypeError("send a text to a URL");
    }
    const fields = Object.fromEntries(new Headers(headers));
    return fetch(input, {
      method,
      headers: fields,
      signal,
      redirect,
      dispatcher,
      body: body || null,
    });
  };
}
