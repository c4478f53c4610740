import type { ManifestCommand } from "./manifest.ts";
import type { Survey } from "./survey.ts";

/** Writes a memory file from what a survey found, with a place for what only people know. */
export function draftMemory(survey: Survey): string {
  const sections = [`# ${survey.name}`, layout(survey), commands(survey), automation(survey), CONVENTIONS];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

function layout({ languages, directories, manifests, partial }: Survey): string {
  const lines = [
    ...(languages.length > 0
      ? [`- languages: ${languages.map(({ name, files }) => `${name} (${files})`).join(", ")}`]
      : []),
    ...(manifests.length > 0 ? [`- manifests: ${manifests.map(({ path }) => `\`${path}\``).join(", ")}`] : []),
    ...(directories.length > 0
      ? [
          `- directories: ${directories
            .slice(0, 30)
            .map((path) => `\`${path}/\``)
            .join(", ")}`,
        ]
      : []),
    ...(partial ? ["- large: only a part of the files was counted"] : []),
  ];
  return lines.length > 0 ? ["## Layout", "", ...lines].join("\n") : "";
}

function commands({ manifests }: Survey): string {
  const lines = manifests.flatMap((manifest) => manifest.commands.map(commandLine));
  return lines.length > 0 ? ["## Commands", "", ...lines].join("\n") : "";
}

function commandLine({ command, runs }: ManifestCommand): string {
  return runs === "" ? `- \`${command}\`` : `- \`${command}\`: \`${runs}\``;
}

function automation(survey: Survey): string {
  if (survey.automation.length === 0) return "";
  return ["## Automation", "", ...survey.automation.slice(0, 20).map((path) => `- \`${path}\``)].join("\n");
}

const CONVENTIONS = `## Conventions

- Say here what an agent cannot see in the code: rules to keep, traps, whom to ask.`;
