import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EditorPorts } from "../editor-ports.ts";
import { pipedIo } from "../testing/run-command.ts";

describe("devtool acp --url", () => {
  const servers: Server[] = [];
  let home: string;
  beforeEach(() => {
    home = temporaryDirectory();
  });
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.close();
      server.closeAllConnections();
    }
  });

  it("says that nothing listens", async () => {
    const { host } = await serve((_request, response) => response.end());
    await Promise.all(
      servers.splice(0).map((server) => once(server.close(), "close")),
    );
    await expect(find(`http://${host}`)).rejects.toThrow(
      `the agent at "http://${host}" cannot be used: nothing listens at ${host} (ECONNREFUSED): start the agent, or check host and port`,
    );
  });

  it("says why a URL is not called at all", async () => {
    await expect(find("http://127.0.0.1:1")).rejects.toThrow(
      "it was not reached (bad port): check host and port",
    );
  });

  it("says that a host is not known", async () => {
    await expect(find("http://nowhere.invalid")).rejects.toThrow(
      /the host name "nowhere\.invalid" is not known \((ENOTFOUND|EAI_AGAIN)\): check its spelling/,
    );
  });

  it("says where it looked for a card", async () => {
    const { host } = await serve((_request, response) =>
      response.writeHead(404).end(),
    );
    await expect(find(`http://${host}/wrong/path`)).rejects.toThrow(
      `the agent at "http://${host}/wrong/path" cannot be used: there is no card (HTTP 404): check the path, the card is looked for at /.well-known/agent-card.json below it and of the host`,
    );
  });

  it("says that a page is not a card", async () => {
    const { host } = await serve((_request, response) =>
      response.end("<html></html>"),
    );
    await expect(find(`http://${host}`)).rejects.toThrow(
      "its card is not valid JSON: check that the URL is that of an",
    );
  });

  it("says that a card is not public", async () => {
    const { host } = await serve((_request, response) =>
      response.writeHead(401).end(),
    );
    await expect(find(`http://${host}`)).rejects.toThrow(
      "its card is refused without credentials (HTTP 401): make",
    );
  });

  it("says that a server does not speak TLS", async () => {
    const { host } = await serve((_request, response) => response.end());
    await expect(find(`https://${host}`)).rejects.toThrow(
      /does not speak TLS \(\w+\): write the URL with http:\/\//,
    );
  });

  it("says that a certificate is not trusted, and that a server speaks TLS", async () => {
    const { host } = await serve(
      (_request, response) => response.end(),
      ownCertificate(home),
    );
    await expect(find(`https://${host}`)).rejects.toThrow(
      /its certificate is not trusted \(\w+\): name a file with its authority in NODE_EXTRA_CA_CERTS/,
    );
    await expect(find(`http://${host}`)).rejects.toThrow(
      /if it speaks TLS, write the URL with https:\/\//,
    );
  });

  it("says which bindings an agent offers, where none is ours", async () => {
    const { host } = await serve((_request, response) =>
      response.end(JSON.stringify(cardOf("GRPC"))),
    );
    await expect(find(`http://${host}`)).rejects.toThrow(
      /agent "old" offers 0\.3 over GRPC at .*: choose 1\.0 over JSONRPC/,
    );
  });

  it("takes an agent that speaks A2A 0.3 alone", async () => {
    const { host } = await serve((_request, response) =>
      response.end(JSON.stringify(cardOf("JSONRPC"))),
    );
    expect((await find(`http://${host}`)).agent).toMatchObject({
      name: "old",
      hasExtension: false,
    });
  });

  it("says how a URL is written", async () => {
    await expect(find("127.0.0.1:5")).rejects.toThrow(
      '"127.0.0.1:5" is not the URL of a server: write it as http://127.0.0.1:41242',
    );
  });

  async function find(
    url: string,
  ): Promise<Awaited<ReturnType<EditorPorts["find"]>>> {
    const { io } = pipedIo({ env: { HOME: home } });
    await using ports = new EditorPorts({ url, data: join(home, "data") }, io);
    return await ports.find(undefined);
  }

  async function serve(
    listener: RequestListener,
    tls?: Certificate,
  ): Promise<{ readonly host: string }> {
    const server = tls
      ? createTlsServer(tls, listener)
      : createServer(listener);
    servers.push(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    return {
      host: `127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    };
  }
});

interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
}

/** Makes a certificate that nobody has signed but its owner. */
function ownCertificate(directory: string): Certificate {
  const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  const args = [
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-keyout",
    key,
    "-out",
    cert,
    "-days",
    "1",
  ];
  execFileSync("openssl", [...args, "-subj", "/CN=localhost"], {
    stdio: "ignore",
  });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

function cardOf(preferredTransport: string): object {
  const modes = {
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
  };
  const about = {
    name: "old",
    version: "1",
    description: "An agent.",
    url: "http://127.0.0.1:9/",
    skills: [],
  };
  return {
    ...about,
    ...modes,
    protocolVersion: "0.3.0",
    preferredTransport,
    capabilities: {},
  };
}
