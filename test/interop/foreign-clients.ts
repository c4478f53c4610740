import { fileURLToPath } from "node:url";
import { jsClient03 } from "./clients/client-03.ts";
import { jsClient10 } from "./clients/client-10.ts";
import type { KnownFailures } from "./matrix.ts";
import {
  javaClient,
  missingReason,
  type Program,
  runProgram,
  rustProgram,
} from "./run-program.ts";
import {
  type ClientTarget,
  play,
  type Scenario,
  type ScenarioName,
  type ScenarioResult,
} from "./scenario.ts";

/** A client of an official SDK, over one version and binding of A2A. */
export interface ForeignClient {
  /** The SDK and its version. */
  readonly peer: string;
  /** `0.3` or `1.0`. */
  readonly protocol: string;
  readonly binding: string;
  /**
   * The scenarios that the SDK itself fails, with reasons. They are played too,
   * and one that passes fails the test.
   */
  readonly known: KnownFailures;
  /** Why it cannot run on this machine. Undefined if it can. */
  readonly missing: string | undefined;
  play(
    target: ClientTarget,
    names: readonly ScenarioName[],
  ): Promise<ScenarioResult[]>;
}

const HERE = fileURLToPath(new URL(".", import.meta.url));
const HTTP_BINDINGS = ["JSONRPC", "HTTP+JSON"];
const BINDINGS = [...HTTP_BINDINGS, "GRPC"];

const GO_430 =
  "it cannot read the JSON of securityRequirements (a2aproject/a2a-go#430); the rest is played without them";

const JAVA_REST: KnownFailures = {
  errors:
    "over HTTP+JSON it knows an error only by the name of a Java class in its body, and throws NullPointerException",
  extended_card:
    "over HTTP+JSON a client that was given the public card returns that, and asks for no other",
};

/** The official SDKs, over each version and binding that they support. */
export function foreignClients(): readonly ForeignClient[] {
  const [python03, python10] = [pythonProgram("0.3"), pythonProgram("1.0")];
  const go = { command: `${HERE}.bin/client-go`, args: [] };
  const goV2 = { command: `${HERE}.bin/client-go-v2`, args: [] };
  return [
    ...each(
      ["0.3"],
      HTTP_BINDINGS,
      inProcess("@a2a-js/sdk 0.3.14", jsClient03),
    ),
    ...each(["0.3"], HTTP_BINDINGS, inProcess("@a2a-js/sdk 1.3.0", jsClient10)),
    ...each(["1.0"], BINDINGS, inProcess("@a2a-js/sdk 1.3.0", jsClient10)),
    ...each(
      ["0.3"],
      HTTP_BINDINGS,
      asProgram("Python a2a-sdk 0.3.26", python03),
    ),
    ...each(
      ["0.3"],
      HTTP_BINDINGS,
      asProgram("Python a2a-sdk 1.3.0", python10),
    ),
    ...each(["1.0"], BINDINGS, asProgram("Python a2a-sdk 1.3.0", python10)),
    ...each(
      ["0.3", "1.0"],
      HTTP_BINDINGS,
      asProgram("Google ADK 2.13.0", pythonProgram("adk")),
    ),
    ...each(["0.3"], ["JSONRPC"], asProgram("Go a2a-go 0.3.3", go)),
    ...each(["1.0"], HTTP_BINDINGS, asProgram("Go a2a-go 2.4.0", goV2), {
      card: GO_430,
      extended_card: GO_430,
    }),
    ...each(["1.0"], ["GRPC"], asProgram("Go a2a-go 2.4.0", goV2), {
      card: GO_430,
    }),
    ...each(
      ["0.3"],
      ["JSONRPC"],
      asProgram("Java a2a-java-sdk 0.3.3", javaClient()),
    ),
    ...each(
      ["0.3"],
      ["HTTP+JSON"],
      asProgram("Java a2a-java-sdk 0.3.3", javaClient()),
      JAVA_REST,
    ),
    ...each(
      ["1.0"],
      BINDINGS,
      asProgram("Rust a2a-client-lf 0.2.9", rustProgram("client")),
    ),
  ];
}

type Peer = Pick<ForeignClient, "peer" | "missing" | "play">;

function each(
  protocols: readonly string[],
  bindings: readonly string[],
  peer: Peer,
  known: KnownFailures = {},
): ForeignClient[] {
  return protocols.flatMap((protocol) =>
    bindings.map((binding) => ({ ...peer, protocol, binding, known })),
  );
}

function inProcess(
  peer: string,
  connect: (
    target: ClientTarget,
  ) => Promise<Readonly<Record<string, Scenario>>>,
): Peer {
  return {
    peer,
    missing: undefined,
    play: async (target, names) => play(await connect(target), names),
  };
}

function asProgram(peer: string, program: Program): Peer {
  return {
    peer,
    missing: missingReason(peer, program),
    play: (target, names) => runProgram(program, target, names),
  };
}

function pythonProgram(name: string): Program {
  return {
    command: `${HERE}.venv-${name}/bin/python`,
    args: [`${HERE}clients/client_${name.replace(".", "")}.py`],
  };
}
