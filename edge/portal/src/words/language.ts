// The language of the examples, remembered by this browser.
import { useState } from "preact/hooks";
import { LANGUAGES, type Language } from "./examples";

const STORED = "rcpt.language";

export function useLanguage(): [Language, (language: Language) => void] {
  const [language, setLanguage] = useState<Language>(remembered);
  return [
    language,
    (chosen) => {
      setLanguage(chosen);
      try {
        localStorage.setItem(STORED, chosen);
      } catch {
        // If storage is blocked, the reader chooses a language again on the next visit.
      }
    },
  ];
}

function remembered(): Language {
  try {
    const stored = localStorage.getItem(STORED);
    return LANGUAGES.find((language) => language === stored) ?? LANGUAGES[0];
  } catch {
    return LANGUAGES[0];
  }
}
