import { once } from "node:events";
import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { createServer as createListener, type Server } from "node:net";
import { join } from "node:path";
import { toJsonString } from "@bufbuild/protobuf";
import { textMessage } from "@devtool/client";
import { createGeminiModel } from "@devtool/gemini";
import { type FakeModel, startFakeGemini } from "@devtool/gemini/testing";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Task, TaskSchema, TaskState } from "@devtool/schema";
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  vi,
} from "vitest";
import { hasOpenssl } from "../auth/certificates.ts";
import { clientOf } from "../client-of.ts";
import { COMPILE_CACHE } from "../compile-cache-variable.ts";
import { variantsOf } from "../depth.ts";
import {
  type ServerProcess,
  startServerProcess,
} from "../durability/crash/server-process.ts";
import { createServiceAccount } from "./vertex/service-account.ts";
import {
  startTokenEndpoint,
  type TokenEndpoint,
} from "./vertex/token-endpoint.ts";

const openssl = await hasOpenssl();
const why = openssl
  ? ""
  : " (skipped: there is no OpenSSL 3 to make certificates with)";
const account = createServiceAccount("file-project");
const METHOD = "streamGenerateContent";
const manual = await examplesOf("../../docs/models.md");

describe.skipIf(!openssl)(
  `Vertex AI, with Google's own library and a server as users start it${why}`,
  () => {
    let fake: FakeModel;
    let directory: string;
    let endpoint: TokenEndpoint;
    let keyFile: string;
    beforeAll(async () => {
      fake = await startFakeGemini();
      directory = temporaryDirectory();
      keyFile = join(directory, "key.json");
      await writeFile(keyFile, account.file, { mode: 0o600 });
    });
    beforeEach(async () => {
      fake.reset();
      endpoint = await startTokenEndpoint(directory, account);
      return () => endpoint[Symbol.asyncDispose]();
    });
    afterAll(() => fake[Symbol.asyncDispose]());

    it("takes project, location, address and model from the environment", async () => {
      await using server = await start({
        ...manual.project,
        GOOGLE_APPLICATION_CREDENTIALS: keyFile,
        GOOGLE_VERTEX_BASE_URL: fake.url,
        GEMINI_MODEL: "gemini-x",
      });
      const task = await server.ask("read notes.txt\nnext\ntext done");
      expect([task.state, task.error]).toEqual([TaskState.COMPLETED, ""]);
      const [first, second, ...more] = fake.requests();
      expect(more).toEqual([]);
      const model =
        "projects/my-project/locations/europe-west4/publishers/google/models/gemini-x";
      expect([first?.path, second?.path]).toEqual([
        `/v1beta1/${model}:${METHOD}`,
        `/v1beta1/${model}:${METHOD}`,
      ]);
      // One token for both: it is asked for again when it is about to expire.
      const authorization = `Bearer ${endpoint.tokens[0]}`;
      expect([first?.headers, second?.headers]).toMatchObject([
        { authorization },
        { authorization },
      ]);
      expect(endpoint.claims).toMatchObject([
        { scope: "https://www.googleapis.com/auth/cloud-platform" },
      ]);
      expect(first?.headers).not.toHaveProperty("x-goog-api-key");
      expect(first?.tools).toContain("read_file");
      expect(first?.body).toMatchObject({
        contents: [
          {
            role: "user",
            parts: [{ text: "read notes.txt\nnext\ntext done" }],
          },
        ],
        systemInstruction: { parts: [{ text: expect.any(String) }] },
        generationConfig: { thinkingConfig: { includeThoughts: true } },
      });
      expect(second?.body).toMatchObject({
        contents: [
          { role: "user" },
          { role: "model", parts: [{ functionCall: { name: "read_file" } }] },
          {
            role: "user",
            parts: [
              {
                functionResponse: {
                  name: "read_file",
                  response: { output: "a note\n" },
                },
              },
            ],
          },
        ],
      });
      expect(endpoint.strangers).toEqual([]);
    });

    it("takes them from config.toml, before a key that is there too", async () => {
      const config = `${manual.config}base_url = "${fake.url}"\n`;
      await using server = await start(
        { GOOGLE_APPLICATION_CREDENTIALS: keyFile, GEMINI_API_KEY: "unused" },
        config,
      );
      expect((await server.ask("text hi")).state).toBe(TaskState.COMPLETED);
      const [request] = fake.requests();
      const model =
        "projects/my-project/locations/us-east1/publishers/google/models/gemini-2.5-pro";
      expect(request?.path).toBe(`/v1beta1/${model}:${METHOD}`);
      expect(request?.headers).toMatchObject({
        authorization: `Bearer ${endpoint.tokens[0]}`,
      });
      expect(JSON.stringify(request)).not.toContain("unused");
      // The library has something to say about the key; whoever reads our JSON
      // does not want to hear it.
      expect(server.said.stdout.trim().split("\n")).toHaveLength(1);
      expect(server.said.stderr).toContain("API key");
    });

    it("takes a key alone in express mode", async () => {
      await using server = await start({
        ...manual.express,
        GOOGLE_VERTEX_BASE_URL: fake.url,
        GEMINI_MODEL: "gemini-x",
      });
      expect((await server.ask("text hi")).state).toBe(TaskState.COMPLETED);
      const [request] = fake.requests();
      expect(request?.path).toBe(
        `/v1beta1/publishers/google/models/gemini-x:${METHOD}`,
      );
      expect(request?.headers).toMatchObject({ "x-goog-api-key": "my-key" });
      expect(request?.headers).not.toHaveProperty("authorization");
      const refused = await server.ask("fail 401");
      expect(refused.error).toMatch(
        /status 401 .*the operator must check the credentials$/,
      );
      expect(
        toJsonString(TaskSchema, refused) + JSON.stringify(server.said),
      ).not.toContain("my-key");
    });

    describe("with invalid credentials", () => {
      const withKey = (file: string): Record<string, string> => ({
        GOOGLE_APPLICATION_CREDENTIALS: file,
        GOOGLE_CLOUD_PROJECT: "p",
        GOOGLE_VERTEX_BASE_URL: fake.url,
      });

      it("fails the turn when the file is missing, and goes on when it is there", async () => {
        const file = join(directory, "later.json");
        await using server = await start(withKey(file));
        const { state, error } = await server.ask("text hi");
        expect(state).toBe(TaskState.FAILED);
        expect(error).toMatch(
          /could not be made \(.*later\.json does not exist.*\): the operator must check the cred/,
        );
        expect(fake.stats().requests).toBe(0);
        await writeFile(file, account.file);
        expect((await server.ask("text hi")).state).toBe(TaskState.COMPLETED);
      });

      const badFiles: readonly (readonly [
        kind: string,
        text: string,
        problem: string,
      ])[] = [
        [
          "no JSON",
          account.file.replace('"private_key":', "private_key:"),
          "the credentials are not valid JSON",
        ],
        [
          "cut off",
          account.file.slice(0, 700),
          "the credentials are not valid JSON",
        ],
        [
          "of another kind",
          '{"type": "service_account"}',
          "does not contain a client_email field",
        ],
        [
          "with a key that is none",
          account.file.replaceAll(/BEGIN|END/g, "…"),
          "",
        ],
      ];
      it.each(variantsOf("invalid credentials", badFiles, 1))(
        "fails the turn when the file is %s",
        async (_kind, text, problem) => {
          const file = join(directory, "bad.json");
          await writeFile(file, text);
          await expectRefusal(withKey(file), problem);
        },
      );

      it("fails the turn when the token is refused", async () => {
        endpoint.refuse();
        await expectRefusal(
          withKey(keyFile),
          "invalid_grant: Invalid JWT Signature: …",
        );
        expect(endpoint.refused.length).toBeGreaterThan(0);
      });

      it("fails in time, and ends when it is told to, while the token endpoint is silent", async () => {
        const silent = createListener(() => undefined);
        await once(silent.listen(0, "127.0.0.1"), "listening");
        vi.stubEnv("HTTPS_PROXY", `http://127.0.0.1:${portOf(silent)}`);
        vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", keyFile);
        const vertex = { project: "p", location: "global" };
        const ask = (
          firstByteMs: number,
          signal: AbortSignal,
        ): Promise<unknown> =>
          firstEvent(
            {
              vertex,
              baseUrl: fake.url,
              timeouts: { firstByteMs },
              retry: { maxAttempts: 1 },
            },
            signal,
          );
        await expect(ask(200, AbortSignal.timeout(60_000))).rejects.toThrow(
          /first piece .* did not arrive within 200 ms/,
        );
        await expect(ask(60_000, AbortSignal.timeout(200))).rejects.toThrow(
          "aborted due to timeout",
        );
        expect(fake.stats().requests).toBe(0);
        vi.unstubAllEnvs();
        silent.close();
      });
    });

    async function expectRefusal(
      environment: Readonly<Record<string, string>>,
      problem: string,
    ): Promise<void> {
      await using server = await start(environment);
      const task = await server.ask("text hi");
      expect(task.state).toBe(TaskState.FAILED);
      expect(task.error).toMatch(
        /^the request to the model could not be made \(.+\): the operator must check the cred/,
      );
      expect(task.error).toContain(problem);
      const said = toJsonString(TaskSchema, task) + JSON.stringify(server.said);
      expect(
        [account.secret, ...endpoint.refused].filter((secret) =>
          said.includes(secret),
        ),
      ).toEqual([]);
      expect(said).not.toMatch(/private_key|PRIVATE KEY|eyJ/);
      expect(fake.stats().requests).toBe(0);
    }

    /**
     * A server with nothing in its environment but what is given and the way to
     * the token endpoint.
     */
    async function start(
      environment: Readonly<Record<string, string>>,
      config = "",
    ): Promise<Asked> {
      const home = await mkdtemp(join(directory, "home-"));
      const [data, workspace] = [join(home, "data"), join(home, "workspace")];
      await mkdir(data, { mode: 0o700 });
      await writeFile(join(data, "config.toml"), config, { mode: 0o600 });
      putFile(workspace, "notes.txt", "a note\n");
      const own = {
        ...COMPILE_CACHE,
        PATH: process.env.PATH ?? "",
        HOME: home,
      };
      const whole = { ...own, ...endpoint.environment, ...environment };
      return new Asked(
        await startServerProcess({ data, workspace, environment: whole }),
      );
    }
  },
);

/**
 * The ways to connect that a document shows: two environments and the lines of
 * a config file.
 */
async function examplesOf(document: string): Promise<{
  readonly project: Readonly<Record<string, string>>;
  readonly express: Readonly<Record<string, string>>;
  readonly config: string;
}> {
  const [, section = ""] = (
    await readFile(new URL(document, import.meta.url), "utf8")
  ).split("\n## Vertex AI\n");
  const [, commands = ""] = /```sh\n([^`]*)```/.exec(section) ?? [];
  const [, config = ""] = /```toml\n([^`]*)```/.exec(section) ?? [];
  const [project = {}, express = {}] = commands
    .split("\n")
    .map((line) =>
      Object.fromEntries(
        [...line.matchAll(/(\w+)=(\S+)/g)].map(([, name = "", value = ""]) => [
          name,
          value,
        ]),
      ),
    );
  return { project, express, config };
}

/** The first thing that a model says to a message. */
async function firstEvent(
  options: Parameters<typeof createGeminiModel>[0],
  signal: AbortSignal,
): Promise<unknown> {
  const model = createGeminiModel({ ...options, random: () => 0 });
  const history = [textMessage("m1", "text hi")];
  const request = {
    history,
    tools: [],
    model: "",
    workspacePath: "",
    instructions: async () => "",
  };
  for await (const event of model.generate(request, signal)) return event;
  return undefined;
}

function portOf(listener: Server): number {
  const address = listener.address();
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

/** A server, and somebody who asks it. */
class Asked implements AsyncDisposable {
  readonly #server: ServerProcess;

  constructor(server: ServerProcess) {
    this.#server = server;
  }

  get said(): ServerProcess["said"] {
    return this.#server.said;
  }

  /** The outcome of a message. */
  async ask(script: string): Promise<Task> {
    const { url, token } = this.#server.info;
    const message = textMessage(crypto.randomUUID(), script);
    const { task } = await clientOf({ url, token }).tasks.sendMessage({
      message,
    });
    if (!task) throw new Error("nothing became of the message");
    return task;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
  }
}
