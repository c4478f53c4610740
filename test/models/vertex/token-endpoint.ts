import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type JWTPayload, jwtVerify } from "jose";
import { Authority } from "../../auth/certificates.ts";
import type { ServiceAccount } from "./service-account.ts";

const HOST = "oauth2.googleapis.com";

/**
 * Google's token endpoint on loopback. Google's library for Node takes no other
 * address than `https://oauth2.googleapis.com/token`, whatever `token_uri` a
 * service account names, so it is reached as behind the proxy of a company: by
 * CONNECT, with a certificate of an authority of our own.
 */
export interface TokenEndpoint extends AsyncDisposable {
  /** The environment that makes a process use it. */
  readonly environment: {
    readonly HTTPS_PROXY: string;
    readonly NODE_EXTRA_CA_CERTS: string;
  };
  /**
   * The claims of the assertions that were exchanged; each had the account's
   * signature.
   */
  readonly claims: readonly JWTPayload[];
  /** The tokens that were given, the newest last. */
  readonly tokens: readonly string[];
  /** The assertions that were refused. */
  readonly refused: readonly string[];
  /** Other requests that came through the proxy. */
  readonly strangers: readonly string[];
  /** Refuses from now on, and says the assertion again in its answer. */
  refuse(): void;
}

/** Starts it, for one account. */
export async function startTokenEndpoint(
  directory: string,
  account: ServiceAccount,
): Promise<TokenEndpoint> {
  const authority = await Authority.create(directory, "test-authority");
  const { certificate, key } = await authority.issue(
    `/CN=${HOST}`,
    `DNS:${HOST}`,
  );
  const authorityFile = join(directory, "authority.pem");
  await writeFile(authorityFile, await authority.certificate());
  const endpoint = new Endpoint(account);
  const secure = createTlsServer(
    { cert: certificate, key },
    (request, response) => {
      endpoint.exchange(request, response).catch(() => response.destroy());
    },
  );
  const strangers: string[] = [];
  const proxy = createServer((_request, response) =>
    response.writeHead(403).end(),
  );
  proxy.on("connect", (request: IncomingMessage, socket) => {
    if (request.url !== `${HOST}:443`) {
      strangers.push(request.url ?? "");
      return void socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    }
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    secure.emit("connection", socket);
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  return {
    environment: {
      HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy.address())}`,
      NODE_EXTRA_CA_CERTS: authorityFile,
    },
    claims: endpoint.claims,
    tokens: endpoint.tokens,
    refused: endpoint.refused,
    strangers,
    refuse: () => endpoint.refuse(),
    [Symbol.asyncDispose]: async () => {
      secure.closeAllConnections();
      proxy.closeAllConnections();
      await once(proxy.close(), "close");
    },
  };
}

class Endpoint {
  readonly claims: JWTPayload[] = [];
  readonly tokens: string[] = [];
  readonly refused: string[] = [];
  readonly #account: ServiceAccount;
  #answer: (assertion: string, response: ServerResponse) => Promise<void> = (
    ...given
  ) => this.#give(...given);

  constructor(account: ServiceAccount) {
    this.#account = account;
  }

  refuse(): void {
    this.#answer = async (assertion, response) => {
      this.refused.push(assertion);
      const answer = {
        error: "invalid_grant",
        error_description: `Invalid JWT Signature: ${assertion}`,
      };
      response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify(answer));
    };
  }

  /** RFC 7523: a signed assertion for a token. */
  async exchange(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const form = new URLSearchParams(await text(request));
    const isAsked = request.method === "POST" && request.url === "/token";
    if (
      !isAsked ||
      form.get("grant_type") !== "urn:ietf:params:oauth:grant-type:jwt-bearer"
    ) {
      return void response.writeHead(404).end();
    }
    await this.#answer(form.get("assertion") ?? "", response);
  }

  async #give(assertion: string, response: ServerResponse): Promise<void> {
    const wanted = {
      audience: `https://${HOST}/token`,
      issuer: this.#account.email,
      algorithms: ["RS256"],
    };
    const { payload } = await jwtVerify(
      assertion,
      this.#account.publicKey,
      wanted,
    );
    this.claims.push(payload);
    const token = `ya29.${crypto.randomUUID()}`;
    this.tokens.push(token);
    const answer = {
      access_token: token,
      expires_in: 3599,
      token_type: "Bearer",
    };
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify(answer));
  }
}

function portOf(address: string | AddressInfo | null): number {
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}
