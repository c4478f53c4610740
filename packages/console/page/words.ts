import { de } from "./messages/de.ts";
import { en, type Words } from "./messages/en.ts";
import { zh } from "./messages/zh.ts";

const LANGUAGES: Readonly<Record<string, Words>> = { en, de, zh };

/**
 * The language of the page: the first of the browser's that there is, else
 * English.
 */
export const language: string =
  navigator.languages
    .map((tag) => tag.slice(0, 2).toLowerCase())
    .find((name) => name in LANGUAGES) ?? "en";

/** The texts of the page. */
export const words: Words = LANGUAGES[language] ?? en;

const ages = new Intl.RelativeTimeFormat(language, {
  numeric: "auto",
  style: "short",
});

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** Says how long ago something was, by times in milliseconds. */
export function ageText(then: number, now: number): string {
  const past = Math.max(0, now - then);
  const [unit, size] =
    UNITS.find(([, one]) => past >= one) ?? (["second", 1000] as const);
  return ages.format(-Math.floor(past / size), unit);
}

/** Returns a text of the page with a name or a date in the place of `#`. */
export function fillText(text: string, value: string): string {
  return text.replace("#", () => value);
}

/** The forms of a text that contains a number. */
interface PluralForms {
  readonly one: string;
  readonly other: string;
}

const plurals = new Intl.PluralRules(language);

/**
 * Returns a text about a number of things, in the plural form that the language
 * of the page has for the number.
 */
export function countText(
  { one, other }: PluralForms,
  count: number | bigint,
): string {
  return fillText(
    plurals.select(Number(count)) === "one" ? one : other,
    count.toLocaleString(language),
  );
}
