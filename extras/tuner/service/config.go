package main

import (
	"fmt"
	"os"
	"strings"
)

// readConfig reads a configuration file into the settings. The file is TOML, of which these forms are known: a key and
// a text, a whole number, true or false, or a list of texts, which may continue on the next lines; and comments.
func readConfig(file string, into *Settings) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return wrongly("%s cannot be read: %v", file, reason(err))
	}
	return parseConfig(file, string(content), into)
}

func parseConfig(file, content string, into *Settings) error {
	lines := strings.Split(strings.TrimPrefix(content, "\ufeff"), "\n")
	lineOf := map[string]int{}
	for at := 0; at < len(lines); at++ {
		where := fmt.Sprintf("%s, line %d", file, at+1)
		line := uncommented(lines[at])
		if line == "" {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !found {
			return wrongly("%s: %q is not a setting; write KEY = VALUE", where, line)
		}
		if first, again := lineOf[key]; again {
			return wrongly("%s: %s is already set in line %d", where, key, first)
		}
		lineOf[key] = at + 1
		for strings.HasPrefix(value, "[") && !strings.HasSuffix(value, "]") && at+1 < len(lines) {
			at++
			value += uncommented(lines[at])
		}
		if err := setKey(where, key, value, into); err != nil {
			return err
		}
	}
	return nil
}

// setKey sets one setting from the configuration file.
func setKey(where, key, value string, into *Settings) error {
	for _, each := range entries {
		if each.key() != key {
			continue
		}
		texts, ok := parseValue(each.kind, value)
		if !ok {
			return refusal(where+": "+key, value, each.kind.String())
		}
		if key == "ceiling" {
			into.ceilingAt = where + ": "
		}
		for _, given := range texts {
			if !each.set(into, given) {
				return refusal(where+": "+key, given, each.allowed)
			}
		}
		return nil
	}
	return wrongly("%s: %s is not a setting; the settings are %s", where, key, allKeys())
}

func allKeys() string {
	keys := make([]string, len(entries))
	for at, each := range entries {
		keys[at] = each.key()
	}
	return strings.Join(keys, ", ")
}

// uncommented returns the line without its comment and without spaces around it.
func uncommented(line string) string {
	quoted := false
	for at, letter := range line {
		if letter == '"' {
			quoted = !quoted
		} else if letter == '#' && !quoted {
			line = line[:at]
			break
		}
	}
	return strings.TrimSpace(line)
}

// parseValue returns the texts of a value: one, or for a list all its members. It returns false if the value does not
// have the form of its kind.
func parseValue(kind kind, value string) ([]string, bool) {
	switch kind {
	case text:
		one, ok := unquoted(value)
		return []string{one}, ok
	case list:
		if !strings.HasPrefix(value, "[") || !strings.HasSuffix(value, "]") {
			return nil, false
		}
		return parseList(value[1:len(value)-1], unquoted)
	case numbers:
		if inner, isList := strings.CutPrefix(value, "["); isList {
			inner, ends := strings.CutSuffix(inner, "]")
			members, ok := parseList(inner, unspaced)
			return members, ends && ok
		}
	}
	one, ok := unspaced(value)
	return []string{one}, ok
}

// unspaced returns a number or a word without the underscores that TOML allows between digits.
func unspaced(value string) (string, bool) {
	return strings.ReplaceAll(value, "_", ""), !strings.ContainsAny(value, "\"' \t[]")
}

// parseList returns the members of a list. read: reads one.
func parseList(members string, read func(string) (string, bool)) ([]string, bool) {
	texts := []string{}
	for _, member := range strings.Split(members, ",") {
		member = strings.TrimSpace(member)
		if member == "" {
			continue
		}
		one, ok := read(member)
		if !ok {
			return nil, false
		}
		texts = append(texts, one)
	}
	return texts, true
}

// unquoted returns a text without its quotes. A backslash would begin an escape in TOML, and is refused.
func unquoted(value string) (string, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return "", false
	}
	inner := value[1 : len(value)-1]
	return inner, !strings.ContainsAny(inner, "\"\\")
}
