import { once } from "node:events";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import {
  createServer as createHttpServer,
  get,
  type RequestListener,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { FakeTerminal, runProgram, writeDiscovery } from "@devtool/cli/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type ServerInfo, ServerInfoSchema } from "@devtool/schema/operator";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  Authority,
  type Certificate,
  hasOpenssl,
} from "../auth/certificates.ts";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { freePort } from "../free-port.ts";

const TOKEN = "the-token-that-nobody-else-may-see-0123456789";
const HAS_OPENSSL = await hasOpenssl();
const PROTOCOLS = ["connect", "grpc", "a2a"];
const FEW_PROTOCOLS = variantsOf("protocols of strangers", PROTOCOLS, 1);

describe("a discovery file whose server is not the one that listens there", () => {
  let base: string;
  let data: string;
  const owned: AsyncDisposable[] = [];

  beforeEach(() => {
    base = temporaryDirectory();
    data = join(base, "data");
  });
  afterEach(async () => {
    for (const each of owned.splice(0)) await each[Symbol.asyncDispose]();
  });

  const ANSWERS: Readonly<Record<string, RequestListener>> = {
    "does not know the path": (_request, response) =>
      void response.writeHead(404).end(),
    "is ready and proves nothing": (_request, response) =>
      void response.end('{"status":"ok"}'),
    "proves with a wrong key": (_request, response) =>
      void response.end(
        JSON.stringify({
          status: "ok",
          proof: Buffer.alloc(32).toString("base64"),
        }),
      ),
    "proves with too few bytes": (_request, response) =>
      void response.end(JSON.stringify({ status: "ok", proof: "AAAA" })),
    "gives the challenge back": (request, response) =>
      void response.end(
        JSON.stringify({
          status: "ok",
          proof: new URL(request.url ?? "", "http://x").searchParams.get(
            "challenge",
          ),
        }),
      ),
    "sends it elsewhere": (request, response) =>
      void response
        .writeHead(307, {
          location: `http://${request.headers.host}/elsewhere`,
        })
        .end(),
    "answers without an end": (_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write("x".repeat(10_000)));
      };
      response.on("drain", more);
      more();
    },
    "cuts the connection": (request) => void request.socket.destroy(),
    "talks something else": (request) =>
      void request.socket.end("220 mail.example ESMTP\r\n"),
  };

  describe.each(Object.entries(ANSWERS))(
    "where a program %s",
    (_what, answer) => {
      it.each(FEW_PROTOCOLS)(
        "gives the token to nobody over %s, and says why",
        async (protocol) => {
          const foreign = await listening(answer);
          await writeDiscovery(data, infoAt(foreign.url));
          for (const words of [
            ["tasks"],
            ["chat"],
            ["watch", "t"],
            ["audit", "verify"],
            ["run", "--task", "t", "text"],
          ]) {
            const { said, code } = await devtool([
              ...words,
              "--protocol",
              protocol,
            ]);
            expect(said, words.join(" ")).toContain(
              `the program that listens at ${foreign.url} did not prove that it is the server of`,
            );
            expect(code).toBe(1);
          }
          expect(foreign.requests.length).toBeGreaterThan(0);
          expect(
            foreign.requests.filter(
              (text) => !/^GET \/readyz\?challenge=[\w-]{43} /.test(text),
            ),
          ).toEqual([]);
          expect(foreign.requests.join("\n")).not.toContain(TOKEN);
        },
      );
    },
  );

  it("is told apart from one that does not answer, which may be the server itself", async () => {
    const silent = await listening(() => undefined);
    await writeDiscovery(data, infoAt(silent.url));
    const [tasks, doctor] = await Promise.all([
      devtool(["tasks"]),
      devtool(["doctor"]),
    ]);
    const says = `the server at ${silent.url} did not answer within 5 seconds: try again, or stop process ${process.pid}`;
    for (const { said, code } of [tasks, doctor]) {
      expect([code, said]).toEqual([1, expect.stringContaining(says)]);
      expect(said).not.toContain("another program");
    }
    expect(silent.requests.join("\n")).not.toContain(TOKEN);
  });

  it("is not passed over where the file cannot be read", async () => {
    await mkdir(data, { recursive: true, mode: 0o700 });
    await writeFile(join(data, "server.json"), "{", { mode: 0o600 });
    for (const command of ["tasks", "doctor"]) {
      const { said, code } = await devtool([command]);
      expect([code, said]).toEqual([
        1,
        expect.stringContaining("server.json is damaged: remove it"),
      ]);
      expect(said).not.toContain("no server is running");
    }
  });

  it("is reported by the conformance kit and the doctor too, which send no token", async () => {
    const foreign = await listening(
      (_request, response) => void response.writeHead(404).end(),
    );
    await writeDiscovery(data, infoAt(foreign.url));
    expect((await devtool(["conformance", foreign.url])).said).toContain(
      "did not prove",
    );
    const { code, said } = await devtool(["doctor"]);
    expect([code, said]).toEqual([
      1,
      expect.stringContaining(`another program listens at ${foreign.url}`),
    ]);
    expect(foreign.requests.join("\n")).not.toContain(TOKEN);
  });

  it.skipIf(LEFT_TO_CI !== "")(
    `cannot be served by passing the challenge on to the server as it runs now, with the same token${LEFT_TO_CI}`,
    async () => {
      await mkdir(join(base, "work"));
      const first = await serving();
      const stale = first.info;
      await first.kill();
      const second = await serving();
      expect(second.info.token).toBe(stale.token);
      // Takes the port of the first start, and asks the second for what it
      // cannot know itself.
      const relay = await listening(
        (request, response) =>
          void get(`${second.info.url}${request.url}`, (answer) => {
            response.writeHead(answer.statusCode ?? 500);
            answer.pipe(response);
          }),
        Number(new URL(stale.url).port),
      );
      await writeDiscovery(data, { ...stale, pid: process.pid });
      const { said } = await devtool(["tasks"]);
      expect(said).toContain("its proof is missing or wrong");
      expect(relay.requests.length).toBe(1);
      expect(relay.requests.join("\n")).not.toContain(stale.token);
    },
  );

  it("lets a chat wait while another program has its port, and answer when the server is back at another", async () => {
    await mkdir(join(base, "work"));
    const server = await serving();
    const terminal = new FakeTerminal();
    const code = runProgram(["chat", "--data", data], terminal.io);
    await terminal.play(["> ", "write asked.txt answered\r"], ["choose > "]);
    await server.kill();
    const foreign = await listening(
      (_request, response) => void response.end("{}"),
      Number(new URL(server.info.url).port),
    );
    await writeDiscovery(data, { ...server.info, pid: process.pid });
    terminal.press("y\r");
    await terminal.shows("did not prove that it is the server of");
    await serving();
    await terminal.shows("✓ write_file");
    expect(terminal.said.match(/did not prove/g)).toHaveLength(1);
    expect(foreign.requests.join("\n")).not.toContain(server.info.token);
    terminal.press("/exit\r");
    expect(await code).toBe(0);
  });

  it("does not stop a job that needs no other server: one is started for it", async () => {
    const foreign = await listening(
      (_request, response) => void response.end("{}"),
    );
    await writeDiscovery(data, infoAt(foreign.url));
    const { said, code } = await devtool([
      "run",
      "--workspace",
      join(base, "job"),
      "text By itself.",
    ]);
    expect([code, said]).toEqual([
      0,
      expect.stringMatching(
        /starting another server for this job[\s\S]*By itself\./,
      ),
    ]);
    expect(foreign.requests.join("\n")).not.toContain(TOKEN);
  });

  it("counts as none when nothing listens there", async () => {
    const gone = await listening(() => undefined);
    await gone[Symbol.asyncDispose]();
    await writeDiscovery(data, infoAt(gone.url));
    expect((await devtool(["tasks"])).said).toContain("no server is running");
  });

  it("counts as none when it ends in the middle of the proof", async () => {
    const ending = await listening((request) => {
      void ending[Symbol.asyncDispose]();
      request.socket.destroy();
    });
    await writeDiscovery(data, infoAt(ending.url));
    expect((await devtool(["tasks"])).said).toContain("no server is running");
    expect(ending.requests.length).toBe(1);
  });

  it("asks for no proof of an agent that --url and --token name", async () => {
    const agent = await listening(
      (_request, response) => void response.writeHead(404).end(),
    );
    const { said } = await devtool([
      "tasks",
      "--url",
      agent.url,
      "--token",
      "given",
      "--protocol",
      "connect",
    ]);
    expect(said).not.toContain("did not prove");
    expect(agent.requests.join("\n")).toContain("authorization: Bearer given");
    expect(agent.requests.join("\n")).not.toContain("/readyz");
  });

  it.each([["755"], ["770"], ["701"]])(
    "is not used in a data directory of mode %s, nor is one served from it",
    async (mode) => {
      await writeDiscovery(data, infoAt("http://127.0.0.1:1"));
      await chmod(data, Number.parseInt(mode, 8));
      const words = [
        ["serve", "--port", "0"],
        ["tasks"],
        ["chat"],
        ["run", "text Hello."],
      ];
      for (const each of words) {
        const { said, code } = await devtool(each);
        expect([code, said]).toEqual([
          1,
          expect.stringContaining(`is open to other users: chmod 700 ${data}`),
        ]);
      }
    },
  );

  describe.skipIf(!HAS_OPENSSL)("with a certificate", () => {
    /** Configures a server with a certificate of its own. */
    async function configureTls(): Promise<Certificate> {
      await mkdir(join(base, "work"));
      await mkdir(data, { mode: 0o700 });
      const own = await certificate("own");
      await writeFile(join(data, "server.pem"), own.certificate);
      await writeFile(join(data, "server.key"), own.key);
      const files =
        'certificate_file = "server.pem"\nkey_file = "server.key"\n';
      await writeFile(join(data, "config.toml"), `[tls]\n${files}`);
      return own;
    }

    it.each(FEW_PROTOCOLS)(
      "is trusted over %s by that certificate, which no authority needs to know",
      async (protocol) => {
        const own = await configureTls();
        const server = await serving();
        expect(server.info.url).toMatch(/^https:/);
        expect(server.info.certificate).toBe(own.certificate);
        const { said, code } = await devtool([
          "run",
          "--protocol",
          protocol,
          "--workspace",
          join(base, "work"),
          "text Seen.",
        ]);
        expect([code, said]).toEqual([0, expect.stringContaining("Seen.")]);
      },
    );

    it("is trusted by a receiver of its notifications, which asks for its keys", async () => {
      await configureTls();
      const config = await readFile(join(data, "config.toml"), "utf8");
      await writeFile(
        join(data, "config.toml"),
        `push_targets = ["127.0.0.1:*"]\n${config}`,
      );
      await serving();
      const run = ["run", "--json", "--workspace", join(base, "work")];
      const taskId: string = JSON.parse(
        (await devtool([...run, "text One."])).said.split("\n")[0] ?? "",
      ).taskId;
      const terminal = new FakeTerminal();
      const listening = runProgram(
        ["push", "listen", "--data", data, "--port", "0", "--task", taskId],
        terminal.io,
      );
      await terminal.shows("listening at");
      // What is said before the server knows the receiver is not posted.
      while (!terminal.said.includes("Again.")) {
        await devtool(["run", "--task", taskId, "text Again."]);
      }
      terminal.interrupt();
      expect(await listening).toBe(0);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `is tested over each binding by that certificate${LEFT_TO_CI}`,
      async () => {
        await configureTls();
        const { info } = await serving("--grpc-in-card");
        for (const binding of ["JSONRPC", "HTTP+JSON", "GRPC"]) {
          const way = [
            "--a2a",
            "1.0",
            "--binding",
            binding,
            "--only",
            "a2a/send",
          ];
          const { said, code } = await devtool([
            "conformance",
            info.url,
            ...way,
          ]);
          expect([code, said]).toEqual([0, expect.stringMatching(/^passed /m)]);
        }
      },
    );

    it.each(variantsOf("protocols", ["connect", "grpc"], 1))(
      "says over %s why it refuses a call",
      async (protocol) => {
        await configureTls();
        const { info } = await serving();
        const { said } = await devtool([
          "tasks",
          "--url",
          info.url,
          "--token",
          "wrong",
          "--protocol",
          protocol,
        ]);
        expect(said).toMatch(/^devtool: the bearer token is missing or wrong/);
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `follows its certificate over a restart${LEFT_TO_CI}`,
      async () => {
        await configureTls();
        const server = await serving();
        const terminal = new FakeTerminal();
        const code = runProgram(["chat", "--data", data], terminal.io);
        await terminal.play(
          ["> ", "write asked.txt answered\r"],
          ["choose > "],
        );
        await server.kill();
        const renewed = await certificate("renewed");
        await writeFile(join(data, "server.pem"), renewed.certificate);
        await writeFile(join(data, "server.key"), renewed.key);
        await serving();
        await terminal.play(["", "y\r"], ["✓ write_file", "/exit\r"]);
        expect(await code).toBe(0);
      },
    );

    it("is not trusted with another certificate, whoever signed it", async () => {
      const own = await configureTls();
      const other = await certificate("other");
      const foreign = await listening(
        (_request, response) => void response.end("{}"),
        0,
        other,
      );
      await writeDiscovery(
        data,
        infoAt(foreign.url, { certificate: own.certificate }),
      );
      for (const protocol of PROTOCOLS) {
        const { said } = await devtool(["tasks", "--protocol", protocol]);
        expect(said).toContain("did not prove");
      }
      // Not even the challenge gets there.
      expect(foreign.requests).toEqual([]);
    });

    async function certificate(name: string): Promise<Certificate> {
      // Of a name that is not the address, by an authority that nobody knows.
      const authority = await Authority.create(base, name);
      return authority.issue(`/CN=${name}.example`, `DNS:${name}.example`);
    }
  });

  async function serving(...flags: readonly string[]): Promise<ServerProcess> {
    const port = String(await freePort());
    const server = await startServing([
      "--data",
      data,
      "--workspace",
      join(base, "work"),
      "--port",
      port,
      ...flags,
    ]);
    owned.push({ [Symbol.asyncDispose]: () => server.kill() });
    return server;
  }

  /** A program that writes down every byte that it is sent. */
  async function listening(
    answer: RequestListener,
    port = 0,
    tls?: Certificate,
  ): Promise<
    AsyncDisposable & {
      readonly url: string;
      readonly requests: readonly string[];
    }
  > {
    const requests: string[] = [];
    const record: RequestListener = (request, response) => {
      const headers = Object.entries(request.headers).map(
        ([name, value]) => `${name}: ${value}`,
      );
      requests.push(
        [`${request.method} ${request.url} `, ...headers].join("\n"),
      );
      request.on("data", (chunk) => requests.push(`body: ${chunk}`));
      answer(request, response);
    };
    const server = tls
      ? createHttpsServer({ cert: tls.certificate, key: tls.key }, record)
      : createHttpServer(record);
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const url = `${tls ? "https" : "http"}://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    const close = async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
    };
    const closing = { [Symbol.asyncDispose]: close };
    owned.push(closing);
    return { url, requests, ...closing };
  }

  function infoAt(
    url: string,
    more: MessageInitShape<typeof ServerInfoSchema> = {},
  ): ServerInfo {
    return create(ServerInfoSchema, {
      ...more,
      url,
      token: TOKEN,
      pid: process.pid,
      proofKey: Buffer.alloc(32, 7),
    });
  }

  async function devtool(
    words: readonly string[],
  ): Promise<{ readonly said: string; readonly code: number }> {
    const [stdin, stdout, stderr] = [
      new PassThrough().end(),
      new PassThrough(),
      new PassThrough(),
    ];
    let said = "";
    for (const stream of [stdout, stderr]) {
      stream.on("data", (chunk) => (said += chunk));
    }
    const [name = "", ...rest] = words;
    // Options of `audit verify` come behind its second word, those of `run`
    // before its prompt.
    const args =
      name === "audit"
        ? [name, ...rest, "--data", data]
        : [name, "--data", data, ...rest];
    const code = await runProgram(args, {
      stdin,
      stdout,
      stderr,
      env: { NO_COLOR: "1" },
      interactive: false,
      onInterrupt: () => () => undefined,
      interrupt: () => undefined,
    });
    return { said, code };
  }
});
