//go:build !linux

package qwen

// treeMemory is not known here.
func treeMemory(int) int64 { return 0 }

// replaced is not known here.
func replaced(int) bool { return false }
