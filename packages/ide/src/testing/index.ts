/**
 * The entry `@devtool/ide/testing`: an editor in memory for tests in this
 * repository. It is not published.
 */
export { type ScriptedDiff, ScriptedEditor } from "./scripted-editor.ts";
