import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startFakeGemini } from "@devtool/gemini/testing";
import { startFakeOpenAi } from "@devtool/openai/testing";

/** A third-party agent, as `pnpm install:peers` installs it. */
export interface RealAgent {
  /** The name by which `devtool serve --agent` knows it. */
  readonly name: string;
  /** The version that is installed. */
  readonly version: string;
  /** Why it cannot run on this machine. Undefined if it can. */
  readonly missing: string | undefined;
  /**
   * Whether the deep tier also leaves it out where it is missing: it needs what
   * `install:peers` does not install. Default: false.
   */
  readonly isOptional?: boolean;
  /** The programs that are put into PATH: the name and the file. */
  readonly programs: Readonly<Record<string, string>>;
  /** Starts the model that it talks to. */
  startModel(): Promise<FakeModel>;
  /**
   * Writes its configuration into a home, and returns its environment
   * variables.
   */
  configure(home: string, modelUrl: string): Readonly<Record<string, string>>;
  /** The step of a script by which the model runs a shell command. */
  runs(command: string): string;
  /**
   * The step by which it writes a file. Undefined where another test shows that
   * the agent asks before that.
   */
  writes?(path: string): string;
}

/** A fake of a model API. */
export interface FakeModel extends AsyncDisposable {
  readonly url: string;
  /** The requests for an answer that it got. */
  requests(): readonly { readonly body: unknown }[];
}

const PEERS = fileURLToPath(
  new URL("../../peers/acp/node_modules/", import.meta.url),
);
const MISSING = "is not installed: run npx -y pnpm@12 install:peers";

/** The parts that both ways to Codex share. */
const CODEX: Pick<RealAgent, "startModel" | "configure" | "runs"> = {
  startModel: () => startFakeOpenAi({ models: ["gpt-5.5"] }),
  configure(home, modelUrl) {
    const config = `model = "gpt-5.5"
model_provider = "fake"
[model_providers.fake]
name = "Fake"
base_url = "${modelUrl}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
`;
    write(join(home, ".codex/config.toml"), config);
    return { OPENAI_API_KEY: "fake", CODEX_HOME: join(home, ".codex") };
  },
  runs: (cmd) =>
    `call exec_command ${JSON.stringify({ cmd, sandbox_permissions: "require_escalated", justification: "a test" })}`,
};

/** The agents that are tested. */
export const REAL_AGENTS: readonly RealAgent[] = [
  {
    name: "gemini",
    version: "0.61.0",
    ...installed({ gemini: "@google/gemini-cli/bundle/gemini.js" }),
    startModel: startFakeGemini,
    configure(home, modelUrl) {
      const settings = {
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { disableAutoUpdate: true },
        // The scripts of the tests say the same thing again and again.
        model: { disableLoopDetection: true },
        privacy: { usageStatisticsEnabled: false },
      };
      write(join(home, ".gemini/settings.json"), JSON.stringify(settings));
      return {
        GEMINI_API_KEY: "fake",
        GOOGLE_GEMINI_BASE_URL: modelUrl,
        GEMINI_CLI_TRUST_WORKSPACE: "true",
      };
    },
    runs: (command) => `run ${command}`,
    writes: (path) =>
      `call write_file ${JSON.stringify({ file_path: path, content: "x" })}`,
  },
  {
    name: "codex",
    version: "0.169.0",
    ...installed({ codex: "@openai/codex/bin/codex.js" }),
    ...CODEX,
  },
  {
    name: "codex-acp",
    version: "2.6.0",
    ...installed({
      "codex-acp": "@agentclientprotocol/codex-acp/dist/index.js",
    }),
    ...CODEX,
  },
  {
    name: "opencode",
    version: "1.18.33",
    ...installed({ opencode: `opencode-linux-${process.arch}/bin/opencode` }),
    startModel: startFakeOpenAi,
    configure(home, modelUrl) {
      const fake = {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL: `${modelUrl}/v1`, apiKey: "fake" },
        models: {
          "gpt-test": {
            name: "Test",
            attachment: true,
            modalities: { input: ["text", "image"], output: ["text"] },
          },
        },
      };
      const config = {
        provider: { fake },
        model: "fake/gpt-test",
        small_model: "fake/gpt-test",
        enabled_providers: ["fake"],
        autoupdate: false,
        share: "disabled",
        permission: { edit: "ask", bash: "ask" },
      };
      write(
        join(home, ".config/opencode/opencode.json"),
        JSON.stringify(config),
      );
      return {
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_AUTOUPDATE: "1",
      };
    },
    runs: (command) =>
      `call bash ${JSON.stringify({ command, description: "Leaves a line" })}`,
    writes: (path) =>
      `call apply_patch ${JSON.stringify({ patchText: `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch` })}`,
  },
  {
    name: "qwen",
    version: "0.24.4",
    ...installed({ qwen: "@qwen-code/qwen-code/cli-entry.js" }),
    startModel: startFakeOpenAi,
    configure(home, modelUrl) {
      const settings = {
        security: { auth: { selectedType: "openai" } },
        general: { disableAutoUpdate: true },
        privacy: { usageStatisticsEnabled: false },
      };
      write(join(home, ".qwen/settings.json"), JSON.stringify(settings));
      return {
        OPENAI_API_KEY: "fake",
        OPENAI_BASE_URL: `${modelUrl}/v1`,
        OPENAI_MODEL: "gpt-test",
      };
    },
    runs: (command) =>
      `call run_shell_command ${JSON.stringify({ command, is_background: false })}`,
    writes: (path) =>
      `call write_file ${JSON.stringify({ file_path: path, content: "x" })}`,
  },
  {
    name: "vibe",
    version: "3.0.2",
    // It needs Python 3.12.
    isOptional: true,
    ...installed({ "vibe-acp": "../.venv/bin/vibe-acp" }),
    startModel: startFakeOpenAi,
    configure(home, modelUrl) {
      const config = `active_model = "test"
enable_telemetry = false
enable_auto_update = false
[[providers]]
name = "fake"
api_base = "${modelUrl}/v1"
api_key_env_var = "MISTRAL_API_KEY"
[[models]]
name = "gpt-test"
provider = "fake"
alias = "test"
supports_images = true
`;
      write(join(home, ".vibe/config.toml"), config);
      return { MISTRAL_API_KEY: "fake", VIBE_HOME: join(home, ".vibe") };
    },
    runs: (command) => `call bash ${JSON.stringify({ command })}`,
    writes: (path) =>
      `call write_file ${JSON.stringify({ path, content: "x" })}`,
  },
];

/**
 * Makes a directory of programs, and returns a PATH with it: what a user who
 * installed the agent has.
 */
export function pathWith({ programs }: RealAgent, directory: string): string {
  mkdirSync(directory, { recursive: true });
  symlinkSync(process.execPath, join(directory, "node"));
  for (const [name, file] of Object.entries(programs)) {
    symlinkSync(file, join(directory, name));
  }
  return [directory, "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);
}

function installed(
  files: Readonly<Record<string, string>>,
): Pick<RealAgent, "programs" | "missing"> {
  const programs = Object.fromEntries(
    Object.entries(files).map(([name, file]) => [name, join(PEERS, file)]),
  );
  const isHere = Object.values(programs).every((file) => existsSync(file));
  return { programs, missing: isHere ? undefined : MISSING };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
