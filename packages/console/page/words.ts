import { de } from "./messages/de.ts";
import { en, type Words } from "./messages/en.ts";
import { zh } from "./messages/zh.ts";

const LANGUAGES: Readonly<Record<string, Words>> = { en, de, zh };

/** The language of the page: the first of the browser's that there is, else English. */
export const language: string =
  navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase()).find((name) => name in LANGUAGES) ?? "en";

/** The texts of the page. */
export const words: Words = LANGUAGES[language] ?? en;

const ages = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** Says how long ago something was, by times in milliseconds. */
export function ageText(then: number, now: number): string {
  const past = Math.max(0, now - then);
  const [unit, size] = UNITS.find(([, one]) => past >= one) ?? (["second", 1000] as const);
  return ages.format(-Math.floor(past / size), unit);
}

/** Writes a number in the language of the page. */
export function numberText(value: bigint): string {
  return value.toLocaleString(language);
}
