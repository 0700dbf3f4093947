"""Three-way merges of trees and tables, and how they are published."""
