import { type Command, InvalidArgumentError, Option } from "commander";

/** The exit codes, for the end of the help. */
export const EXIT_CODES = `
Exit codes:
  0    nothing failed
  1    a case failed
  2    could not test: nothing answers, a wrong option, or a file that cannot be read
  130  canceled`;

/** The options that only a server can be tested with. */
const FOR_SERVERS = ["push", "token", "data", "binding", "prompts", "init"];

/** Adds the options of the kit to a command whose argument is a URL. */
export function addKitOptions(command: Command): Command {
  const kit = command
    .description(
      "Test an A2A 0.3 or 1.0 server, or a client or codec in any language",
    )
    .addOption(
      new Option(
        "--program <file>",
        "test a client or codec: the program that this binding.json names",
      ).conflicts([...FOR_SERVERS, "a2a", "only"]),
    )
    .addOption(
      new Option(
        "--client <command>",
        "test a client of A2A: a command that is run with the URL of an agent and a prompt, and prints what it receives as JSON",
      ).conflicts([...FOR_SERVERS, "program"]),
    )
    .option(
      "--push <host:port>",
      "also test push notifications, received at this address",
    )
    .option("--token <token>", "bearer token (default: $DEVTOOL_TOKEN)")
    .addOption(
      new Option(
        "--a2a <version>",
        "A2A version (default: the card's first; of a client: each)",
      ).choices(["0.3", "1.0"]),
    )
    .addOption(
      new Option(
        "--binding <name>",
        "protocol binding (default: the card's first)",
      ).choices(["JSONRPC", "HTTP+JSON", "GRPC"]),
    )
    .option(
      "--prompts <file>",
      "JSON file with the prompts for what cases need (default: the coding agent's if the card claims the extension, otherwise a greeting)",
    )
    .addOption(
      new Option(
        "--init [file]",
        "write a file of prompts to fill in (prompts.json), and test nothing",
      ).preset("prompts.json"),
    )
    .addOption(
      new Option("--level <level>", "which requirements decide the exit code")
        .choices(["must", "should", "may"])
        .default("must"),
    )
    .option(
      "--only <prefix>",
      "run only the cases whose id starts with this prefix, such as a2a/",
    )
    .option(
      "--timeout <seconds>",
      "time limit of each case, and of the card (default: 30; conversations with a client: 10)",
      parseSeconds,
    );
  return addReports(kit);
}

/** Adds the options that say what is written about the cases. */
function addReports(command: Command): Command {
  return command
    .option(
      "--known-failing <file>",
      "JSON file of cases that may fail, with reasons; it is an error if one of them passes",
    )
    .option("--report-html <file>", "write an HTML report")
    .option("--report-junit <file>", "write a JUnit XML report")
    .option("--report-json <file>", "write a JSON report")
    .option(
      "--report-badge <file>",
      "write the totals as JSON for a badge of shields.io",
    )
    .option("--json", "print each result as a line of JSON");
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (seconds > 0 && seconds <= 86_400) return seconds;
  throw new InvalidArgumentError("write seconds, such as 5 or 0.5.");
}
