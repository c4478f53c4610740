import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createDevtoolClient, type DevtoolClient } from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { type CodingServerOptions, codingAgent } from "@devtool/coding-agent";
import { createGeminiModel } from "@devtool/gemini";
import { type FakeModel, startFakeGemini } from "@devtool/gemini/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  createServer,
  type DevtoolServer,
  type ServerOptions,
} from "@devtool/server";
import { type Address, clientOf as connectClientOf } from "../client-of.ts";

/** The protocol between a client and the server. */
export type Dialect = "Connect" | "A2A 0.3" | "A2A 1.0";

/**
 * The options of a server and of the coding agent, or of other agents in its
 * place.
 */
export type GroundOptions = CodingServerOptions &
  Partial<Pick<ServerOptions, "agents">>;

/**
 * Where scenarios are played: a workspace, a data directory, and a fake Gemini.
 */
export class Ground implements AsyncDisposable {
  readonly fake: FakeModel;
  readonly #root: string;

  private constructor(root: string, fake: FakeModel) {
    this.#root = root;
    this.fake = fake;
  }

  /** Prepares a workspace that has these files. */
  static async prepare(
    files: Readonly<Record<string, string>> = {},
  ): Promise<Ground> {
    const ground = new Ground(temporaryDirectory(), await startFakeGemini());
    await mkdir(ground.workspace);
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(ground.path(path)), { recursive: true });
      await writeFile(ground.path(path), text);
    }
    return ground;
  }

  get workspace(): string {
    return join(this.#root, "workspace");
  }

  get dataDirectory(): string {
    return join(this.#root, "data");
  }

  /** The path of a file of the workspace. */
  path(name: string): string {
    return join(this.workspace, name);
  }

  /** Reads a file of the workspace; undefined when it is not there. */
  read(name: string): Promise<string | undefined> {
    return readFile(this.path(name), "utf8").catch(() => undefined);
  }

  /**
   * Starts a server with Gemini behind it, unconfined unless the options say
   * otherwise.
   */
  serve(
    options: GroundOptions = {},
    gemini: Partial<Parameters<typeof createGeminiModel>[0]> = {},
  ): Promise<DevtoolServer> {
    const { workspace, dataDirectory, fake } = this;
    const retry = { baseDelayMs: 1, maxDelayMs: 2 };
    const model = createGeminiModel({
      apiKey: "k",
      baseUrl: fake.url,
      random: () => 0,
      retry,
      ...gemini,
    });
    const agents = {
      devtool: codingAgent({ model, sandbox: "none", ...options }),
    };
    return createServer({
      agents,
      workspace,
      dataDirectory,
      drainMs: 100,
      ...options,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fake[Symbol.asyncDispose]();
  }
}

/** A client that speaks a dialect. */
export function clientOf(address: Address, dialect: Dialect): DevtoolClient {
  if (dialect === "Connect") return connectClientOf(address);
  const { url, token } = address;
  const protocolVersion = dialect.slice("A2A ".length);
  return createDevtoolClient(
    createA2aTransport({ url: `${url}/`, token, protocolVersion }),
  );
}

interface Content {
  readonly role: string;
  readonly parts: readonly {
    readonly text?: string;
    readonly inlineData?: { readonly mimeType: string; readonly data: string };
    readonly functionCall?: {
      readonly name: string;
      readonly args: Readonly<Record<string, unknown>>;
    };
    readonly functionResponse?: {
      readonly name: string;
      readonly response: Readonly<Record<string, unknown>>;
    };
  }[];
}

/** The contents that the model was asked with last. */
export function lastContents(fake: FakeModel): readonly Content[] {
  const body: { readonly contents: readonly Content[] } = JSON.parse(
    JSON.stringify(fake.requests().at(-1)?.body),
  );
  return body.contents;
}

/** The results of its calls that the model got in the last request. */
export function toldOf(
  fake: FakeModel,
): readonly Readonly<Record<string, unknown>>[] {
  const parts = lastContents(fake).flatMap((content) => content.parts);
  return parts.flatMap(({ functionResponse }) =>
    functionResponse ? [functionResponse.response] : [],
  );
}
