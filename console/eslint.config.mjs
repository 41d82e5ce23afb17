import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  { ignores: ["dist", "src/openapi.d.ts"] },
  js.configs.recommended,
  ...tseslint.configs.strict,
  {
    files: ["**/*.mjs"],
    languageOptions: {
      globals: Object.fromEntries(
        [
          ...["process", "console", "URL", "URLSearchParams", "fetch", "document", "window"],
          ...["getComputedStyle", "innerHeight", "localStorage", "sessionStorage"],
          ...["setTimeout", "performance", "Response", "location", "Event"],
        ].map((name) => [name, "readonly"]),
      ),
    },
  },
  {
    rules: {
      // Indexes are checked by the compiler (noUncheckedIndexedAccess); ! says why not here.
      "@typescript-eslint/no-non-null-assertion": "off",
      // Promises of the data hooks end in state, which shows their errors.
      "@typescript-eslint/no-invalid-void-type": "off",
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-console": "off",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "What comes from servers is text, never markup." },
        { property: "outerHTML", message: "What comes from servers is text, never markup." },
        { property: "insertAdjacentHTML", message: "What comes from servers is text." },
      ],
      "no-restricted-syntax": [
        "error",
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: "What comes from servers is text, never markup.",
        },
      ],
    },
  },
);
