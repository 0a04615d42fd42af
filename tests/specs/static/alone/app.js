import "sampan";
