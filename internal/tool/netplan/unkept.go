package netplan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// held are the settings that a Device holds, or that say what Render writes anyway.
var held = []string{
	"match", "set-name", "renderer", "infiniband-mode", "mtu", "addresses", "routes", "gateway4", "gateway6", "dhcp4",
	"dhcp6", "interfaces", "link-local", "optional", "ignore-carrier",
}

// unkeptSettings names the settings of a device that a Device does not hold, in order. They
// are named without their values: one may be a password.
func unkeptSettings(device map[string]any) []string {
	var names []string
	for _, key := range slices.Sorted(maps.Keys(device)) {
		switch {
		case slices.Contains(held, key), key == "accept-ra" && !isOn(device[key]):
		default:
			names = append(names, key)
		}
	}
	addresses, _ := device["addresses"].([]any)
	for _, a := range addresses {
		if options, ok := a.(map[string]any); ok {
			for _, o := range options {
				names = append(names, namesOf("addresses.", o)...)
			}
		}
	}
	routes, _ := device["routes"].([]any)
	for _, r := range routes {
		route, _ := r.(map[string]any)
		rest := maps.Clone(route)
		// A route without a gateway is not held, and so all of it is told.
		if route["via"] != nil {
			delete(rest, "to")
			delete(rest, "via")
		}
		names = append(names, namesOf("routes.", rest)...)
	}
	return slices.Compact(names)
}

func namesOf(prefix string, v any) []string {
	m, _ := v.(map[string]any)
	var names []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		names = append(names, prefix+key)
	}
	return names
}

// isOn reads a switch of YAML 1.1, which netplan takes.
func isOn(v any) bool {
	switch strings.ToLower(fmt.Sprint(v)) {
	case "true", "yes", "on", "y":
		return true
	}
	return false
}
